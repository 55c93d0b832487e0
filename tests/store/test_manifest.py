import json

import pytest

from rllc.store import manifest
from rllc.store.atomic_write import UnreadableResult


@pytest.fixture
def vouched(tmp_path):
    """A large file under corpora/ and the manifest that stands for it."""
    folder = tmp_path / "corpora"
    folder.mkdir()
    large, small = folder / "a.arrow", folder / "a.json"
    large.write_bytes(b"0123456789" * 100)
    manifest.write(small, documents=manifest.file_entry(large, blocks=3), note="x")
    return large, small


def truncated(content):
    return content[:-9]


def flipped(content):
    return content[:-1] + bytes([content[-1] ^ 1])


def test_a_sound_file_is_verified(vouched):
    large, small = vouched
    assert manifest.verified(small, manifest.read(small)["documents"]) == large


@pytest.mark.parametrize(("spoil", "what"), [(truncated, "991 bytes"), (flipped, "SHA-256")])
def test_a_spoilt_file_is_not_used(vouched, spoil, what):
    large, small = vouched
    large.write_bytes(spoil(large.read_bytes()))
    with pytest.raises(
        UnreadableResult, match=f"{large} cannot be used: .*{what}.*Move it away and run again"
    ):
        manifest.verified(small, manifest.read(small)["documents"])


def test_a_missing_file_is_named(vouched):
    large, small = vouched
    large.unlink()
    with pytest.raises(UnreadableResult, match=f"^{large} is missing. Run again to make it"):
        manifest.verified(small, manifest.read(small)["documents"])


@pytest.mark.parametrize("text", ["", "[", "\x00"])
def test_what_is_no_manifest_is_refused(vouched, text):
    _, small = vouched
    small.write_text(text)
    with pytest.raises(UnreadableResult, match=f"{small} is not a readable manifest"):
        manifest.read(small)


def test_equal_content_gives_equal_bytes(tmp_path):
    manifest.write(tmp_path / "a.json", b=1, a=[2])
    manifest.write(tmp_path / "b.json", a=[2], b=1)
    assert (tmp_path / "a.json").read_bytes() == (tmp_path / "b.json").read_bytes()
    assert json.loads((tmp_path / "a.json").read_text()) == {"a": [2], "b": 1}
