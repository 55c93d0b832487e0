import os

# Compiling tslearn's loops takes half a minute; at these sizes they run faster uncompiled.
os.environ.setdefault("NUMBA_DISABLE_JIT", "1")
