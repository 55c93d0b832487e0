"""A server on this machine that speaks the part of the hub's protocol by which huggingface_hub reads models.

Set ``HF_ENDPOINT`` to its address. Files of weights are "large": as on the hub they are named by their SHA-256
and come from another path. Requests are kept, so that a test sees what was asked.
"""

import hashlib
import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote, urlsplit

LARGE = (".safetensors", ".bin", ".pt", ".msgpack", ".h5")


class Hub:
    """Repositories: name -> revision -> folder. ``gated`` ones give their list of files to everyone, and no file."""

    def __init__(self, repositories: Mapping[str, Mapping[str, Path]], gated: tuple[str, ...] = ()):
        self.repositories = {name: dict(revisions) for name, revisions in repositories.items()}
        self.gated = gated
        self.requests: list[tuple[str, str]] = []
        self.damaged: set[str] = set()  # names of files that come with other bytes
        self.address = ""

    def commit(self, repository: str, revision: str) -> str | None:
        """Return the commit of a revision, also of one that is a commit; None where there is none."""
        commits = {name: self._commit(repository, name) for name in self.repositories[repository]}
        return commits.get(revision) or (revision if revision in commits.values() else None)

    def folder(self, repository: str, commit: str) -> Path:
        revisions = self.repositories[repository]
        return next(folder for name, folder in revisions.items() if self._commit(repository, name) == commit)

    def _commit(self, repository: str, revision: str) -> str:
        return hashlib.sha1(f"{repository} {self.repositories[repository][revision]}".encode()).hexdigest()

    def fetched(self) -> list[str]:
        """Return the names of the files whose bytes were sent."""
        return [path.rsplit("/", 1)[-1] for method, path in self.requests if method == "SENT"]


def sha256(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


@contextmanager
def serving(hub: Hub) -> Iterator[Hub]:
    """Context manager: serve a hub on a free port of this machine."""
    handler = type("Handler", (_Handler,), {"hub": hub})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    hub.address = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield hub
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class _Handler(BaseHTTPRequestHandler):
    hub: Hub
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        """Write nothing to the terminal."""

    def do_HEAD(self) -> None:
        self._answer(body=False)

    def do_GET(self) -> None:
        self._answer(body=True)

    def _answer(self, *, body: bool) -> None:
        parts = [unquote(part) for part in urlsplit(self.path).path.strip("/").split("/")]
        self.hub.requests.append((self.command, urlsplit(self.path).path))
        if parts[0] == "cdn":
            self._send(Path("/".join(["", *parts[1:]])), {}, body=body)
            return
        if parts[:2] == ["api", "models"]:
            repository, rest = "/".join(parts[2:4]), parts[4:]
        else:
            repository, rest = "/".join(parts[:2]), parts[2:]
        if repository not in self.hub.repositories:
            self._refuse(401, "RepoNotFound")  # as the hub, which hides private ones
            return
        commit = self.hub.commit(repository, rest[1])
        if commit is None:
            self._refuse(404, "RevisionNotFound")
        elif rest[0] == "revision":
            self._info(repository, commit)
        elif repository in self.hub.gated:
            self._refuse(403, "GatedRepo")
        else:
            self._file(self.hub.folder(repository, commit) / "/".join(rest[2:]), commit, body=body)

    def _info(self, repository: str, commit: str) -> None:
        siblings = []
        for file in sorted(self.hub.folder(repository, commit).iterdir()):
            entry = {"rfilename": file.name, "size": file.stat().st_size, "blobId": "0" * 40}
            if file.suffix in LARGE:
                entry["lfs"] = {"sha256": sha256(file), "size": entry["size"], "pointerSize": 134}
            siblings.append(entry)
        content = {"_id": "0", "id": repository, "modelId": repository, "sha": commit, "siblings": siblings}
        self._plain(200, json.dumps({**content, "private": False, "tags": [], "downloads": 0}).encode())

    def _file(self, file: Path, commit: str, *, body: bool) -> None:
        if not file.is_file():
            self._refuse(404, "EntryNotFound", {"X-Repo-Commit": commit})
            return
        headers = {"X-Repo-Commit": commit, "ETag": f'"{hashlib.sha1(file.read_bytes()).hexdigest()}"'}
        if file.suffix not in LARGE:
            self._send(file, headers, body=body)
            return
        linked = {"X-Linked-Size": str(file.stat().st_size), "X-Linked-ETag": f'"{sha256(file)}"'}
        other_host = self.hub.address.replace(
            "127.0.0.1", "localhost"
        )  # redirects within a host are followed
        where = {"Location": f"{other_host}/cdn{file.resolve()}", "Content-Length": "0"}
        self._start(302, {"X-Repo-Commit": commit, **linked, **where})

    def _send(self, file: Path, headers: Mapping[str, str], *, body: bool) -> None:
        content = file.read_bytes()
        if file.name in self.hub.damaged:
            content = content[:-1] + bytes([content[-1] ^ 1])
        begin = int(self.headers.get("Range", "bytes=0-").removeprefix("bytes=").split("-")[0])
        part = {"Content-Range": f"bytes {begin}-{len(content) - 1}/{len(content)}"} if begin else {}
        length = {"Content-Length": str(len(content) - begin), "Accept-Ranges": "bytes"}
        self._start(206 if begin else 200, {**headers, **part, **length})
        if body:
            self.hub.requests.append(("SENT", str(file)))
            self.wfile.write(content[begin:])

    def _refuse(self, status: int, code: str, headers: Mapping[str, str] | None = None) -> None:
        self._plain(status, b"{}", {"X-Error-Code": code, "X-Error-Message": code, **(headers or {})})

    def _plain(self, status: int, content: bytes, headers: Mapping[str, str] | None = None) -> None:
        given = {"Content-Type": "application/json", "Content-Length": str(len(content)), **(headers or {})}
        self._start(status, given)
        if self.command != "HEAD":
            self.wfile.write(content)

    def _start(self, status: int, headers: Mapping[str, str]) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
