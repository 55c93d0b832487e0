"""The refined LLC of heads, an MLP and the embedding of a Hugging Face model: a tiny one, untrained.

Run: python examples/huggingface_model.py
For yours: model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
"""

import torch
from transformers import GPTNeoXConfig, GPTNeoXForCausalLM

import rllc

torch.manual_seed(0)
shape = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64}
model = GPTNeoXForCausalLM(GPTNeoXConfig(vocab_size=100, max_position_embeddings=64, **shape)).eval()
tokens = torch.randint(0, 100, (64, 32))  # contexts of a text, from the model's tokenizer
setting = rllc.SamplerConfig(n_beta=30, localization=200, step_size=1e-3, chains=4, draws=30, burn_in=10)
components = ["0:1", "1:3", "mlp:1", "attn:0", "embedding"]  # docs/own_models.md: all labels
estimates = rllc.estimate_heads(model, tokens, setting=setting, components=components)
print(estimates[["llc", "llc_se", "rhat", "ess"]].to_dataframe().round(3).to_string())
