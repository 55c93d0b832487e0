"""A small corpus in three parts, made from seeds."""

import numpy as np
import pytest

from rllc.tasks.language.documents import Document, collect

WORDS = {
    "english": "the head attends to a token that came before and copies what followed it",
    "code": "def return self self.weights for in range ( ) : [ ] None import numpy",
    "headers": "#include <torch/csrc/api.h> struct TORCH_API const int64_t & ; { } template",
}


def make_documents(part: str, count: int, length: int = 300) -> list[Document]:
    random = np.random.default_rng(sum(part.encode()))
    return [
        Document(
            " ".join(random.choice(WORDS[part].split(), random.integers(length // 2, length * 3 // 2))),
            f"{part}/{i}",
        )
        for i in range(count)
    ]


@pytest.fixture(scope="session")
def tables():
    counts = {"english": 60, "code": 90, "headers": 80}
    return {
        part: collect(make_documents(part, count), held_out_fraction=0.2) for part, count in counts.items()
    }
