"""Errors of the hub in words of the config: what cannot be fetched, why, and what to do."""

from collections.abc import Callable
from typing import TypeVar

from rllc.study.huggingface.wanted import Wanted

T = TypeVar("T")


class DownloadError(Exception):
    """Something that cannot be fetched, and what to do."""


class NoRevision(DownloadError):
    """A revision that its repository does not have."""


def asked(each: Wanted, call: Callable[[], T]) -> T:
    """Return what a call of the hub returns. Raises DownloadError that says what to do."""
    from huggingface_hub import constants, errors

    what = f"{each.key}: {each.repository} {each.revision}"
    try:
        return call()
    except DownloadError:
        raise
    except errors.GatedRepoError as error:
        raise DownloadError(
            f"{what} cannot be fetched: the model is gated. Accept its terms on "
            f"{constants.ENDPOINT}/{each.repository}, then log in by `hf auth login`, or set HF_TOKEN"
        ) from error
    except errors.RevisionNotFoundError as error:
        raise NoRevision(
            f"{each.key}: {each.repository} has no revision {each.revision}: "
            f"{constants.ENDPOINT}/{each.repository}/tree/main lists its branches; correct the name"
        ) from error
    except errors.RepositoryNotFoundError as error:
        raise DownloadError(
            f"{what} cannot be fetched: the hub has no such model, or it is private. Correct the name, or "
            "log in by `hf auth login`"
        ) from error
    except errors.OfflineModeIsEnabled as error:
        raise DownloadError(f"{what} cannot be fetched: HF_HUB_OFFLINE is set; unset it") from error
    except errors.HfHubHTTPError as error:
        status = error.response.status_code
        raise DownloadError(
            f"{what} cannot be fetched: the hub answers with the error {status}; call again later"
        ) from error
    except PermissionError as error:
        raise DownloadError(
            f"{what} cannot be written to the cache ({error}): set HF_HOME to a folder of yours"
        ) from error
    except OSError as error:
        if error.errno is None:
            raise _no_network(what, error) from error
        raise DownloadError(f"{what} cannot be fetched: {error}") from error
    except Exception as error:  # of the package's client for HTTP, which depends on its version
        raise _no_network(what, error) from error


def _no_network(what: str, error: Exception) -> DownloadError:
    from huggingface_hub import constants

    reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
    return DownloadError(
        f"{what} cannot be fetched: {constants.ENDPOINT} cannot be reached ({reason}). Call `snakemake "
        "download` on a machine with a network, such as a login node; what it fetched lies in "
        f"{constants.HF_HUB_CACHE} and can be copied"
    )
