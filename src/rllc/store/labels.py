"""Attributes of variables and coordinates of datasets on disk: a short name for plots, a unit, a comment."""

import xarray as xr

LONGEST = 40  # characters of a long_name that xarray's plots do not cut
COORDINATES = {
    "ablated": ("heads ablated", "1"),
    "against": ("distribution compared with", "1"),
    "algorithm": ("clustering algorithm", "1"),
    "at": ("position in the context", "tokens"),
    "batch_size": ("contexts of a minibatch", "contexts"),
    "boundary": ("stage boundary", "1"),
    "brackets": ("kind of brackets", "1"),
    "chain": ("chain", "1"),
    "change": ("what is changed", "1"),
    "circuit": ("circuit", "1"),
    "claim": ("claim", "1"),
    "closers": ("closing brackets scored", "1"),
    "component": ("component", "1"),
    "condition": ("condition", "1"),
    "context": ("context", "1"),
    "dataset_size": ("contexts that chains draw from", "contexts"),
    "distribution": ("distribution", "1"),
    "distribution_label": ("distribution, in words", "1"),
    "draw": ("draw of the sampler", "1"),
    "evaluation": ("minibatches that the losses are of", "1"),
    "excerpt": ("excerpt", "1"),
    "experiment": ("experiment", "1"),
    "experiment_label": ("experiment, in words", "1"),
    "finding": ("number of the caption", "1"),
    "flatness": ("slope that is flat, over the range", "1"),
    "grid": ("log(step + 1)", "1"),
    "grid_step": ("training step of the grid", "steps"),
    "group": ("group", "1"),
    "half": ("half of the context", "1"),
    "head": ("head (layer:head)", "1"),
    "head_group": ("group of heads", "1"),
    "head_index": ("index of the head in its layer", "1"),
    "head_scope": ("heads that are clustered together", "1"),
    "head_type_other": ("type of the head if the nearest threshold were crossed", "1"),
    "index": ("index of agreement", "1"),
    "joined": ("token is joined to the one before", "1"),
    "k": ("number of the pair in the sequence", "1"),
    "kind": ("kind of boundary", "1"),
    "label": ("model, in words", "1"),
    "later_head": ("head of a later layer (layer:head)", "1"),
    "layer": ("layer", "1"),
    "localization": ("localization", "1"),
    "method": ("method of ablation", "1"),
    "n": ("length of the n-gram", "tokens"),
    "n_beta": ("inverse temperature x samples (n_beta)", "1"),
    "n_clusters": ("number of clusters", "1"),
    "noise_seed": ("seed of the chains' noise", "1"),
    "normalisation": ("normalisation", "1"),
    "of_layer": ("layer whose heads are taken together", "1"),
    "order": ("place in order", "1"),
    "other_algorithm": ("clustering algorithm compared with", "1"),
    "other_token": ("other token", "1"),
    "pair": ("pair of heads", "1"),
    "pattern": ("pattern", "1"),
    "position": ("position in the context", "tokens"),
    "potential": ("potential", "1"),
    "published_seed": ("training seed of the claimants", "1"),
    "rank": ("rank, the largest first", "1"),
    "rank_method": ("method of counting eigenvalues", "1"),
    "rank_range": ("range of the spectrum", "1"),
    "repeated": ("token repeats an earlier one", "1"),
    "replicate": ("replicate", "1"),
    "role": ("role of heads", "1"),
    "sampler": ("sampler", "1"),
    "scale": ("factor g of inputs or tasks", "1"),
    "scope": ("heads in question", "1"),
    "second": ("second copy of a sequence", "1"),
    "seed": ("training seed", "1"),
    "seeding": ("whether checkpoints share their noise", "1"),
    "setting": ("sampling setting", "1"),
    "stage": ("stage", "1"),
    "step": ("training step", "steps"),
    "step_rllc": ("training step of the rLLC", "steps"),
    "step_size": ("step size of the sampler", "1"),
    "text": ("text of the token", "1"),
    "text_label": ("text, in words", "1"),
    "token": ("token", "1"),
    "tokens": ("tokens in question", "1"),
    "vectors": ("vectors that are clustered", "1"),
    "weight": ("weight", "1"),
}
# Short names of variables that are plotted often. Others get the words of their name.
OF_ESTIMATES = {
    "": "{full}",
    "_se": "Monte Carlo standard error of the {name}",
    "_init": "{name}, baseline of the init batches",
    "_chain": "{full}, one chain",
    "_prior_only": "{name} without gradient (control)",
    "_prior_only_se": "standard error of the control",
    "_prior_only_chain": "{name} without gradient, one chain",
    "_drift_free": "{name}, drift_free gradient (control)",
    "_drift_free_se": "standard error of the drift-free control",
    "_se_control": "{name} error that all chains share",
    "_se_data": "{name} error from choice of minibatches",
    "_reduced_chain": "{name} of one chain, variance reduced",
}
SHORT = {
    **{
        variable + ending: words.format(name=name, full=full)
        for variable, name, full in (
            ("llc", "LLC", "local learning coefficient"),
            ("rllc", "rLLC", "refined LLC"),
        )
        for ending, words in OF_ESTIMATES.items()
    },
    "rllc": "refined local learning coefficient",
    "rhat": "R-hat of the paired trace",
    "ess": "effective sample size",
    "drift": "drift: second half of draws less first",
    "drift_se": "Monte Carlo standard error of the drift",
    "half_length_change": "gain since chains were half as long",
    "half_length_change_se": "Monte Carlo error of half_length_change",
    "equilibrated_variance": "variance relaxed by the localization",
    "equilibrated_mean": "mean relaxed by the localization",
    "acceptance": "mean Metropolis acceptance",
    "acceptance_null": "mean acceptance for a constant loss",
    "geweke": "Geweke's z",
    "heidelberger_welch_start": "Heidelberger-Welch: share dropped",
    "heidelberger_welch_p": "Heidelberger-Welch: p of stationarity",
    "heidelberger_welch_halfwidth": "Heidelberger-Welch: relative half-width",
    "raftery_lewis_factor": "Raftery-Lewis dependence factor",
    "init_loss": "mean loss at the centre, init batches",
    "control_coefficient": "coefficient of the control",
    "variance_reduction": "share of variance the control removed",
    "quality": "reasons for doubt, one bit each",
    "trace_loss": "minibatch loss of each draw",
    "trace_paired_loss": "loss of each draw minus the start's",
}
WORDS = {
    "llc": "LLC",
    "rllc": "rLLC",
    "fim": "FIM",
    "ggn": "GGN",
    "icl": "ICL",
    "mse": "MSE",
    "qk": "QK",
    "ov": "OV",
    "dyck": "Dyck",
}


def labelled(dataset: xr.Dataset) -> xr.Dataset:
    """Return the dataset with ``long_name`` and ``units`` on every variable and coordinate.

    A long name has at most ``LONGEST`` characters. If it is cut, ``comment`` holds the full text. The default
    unit is "1".
    """
    labelled = dataset.copy()
    for name in labelled.variables:
        attributes = labelled[name].attrs
        told, unit = COORDINATES.get(str(name), ("", "")) if name in labelled.coords else ("", "")
        full = str(attributes.get("long_name", "") or told)
        if len(full) > LONGEST:
            attributes["comment"] = full
        attributes["long_name"] = _short(str(name), full)
        attributes["units"] = attributes.get("units") or unit or "1"
    return labelled


def _short(name: str, full: str) -> str:
    if full and len(full) <= LONGEST:
        return full
    words = SHORT.get(name) or " ".join(WORDS.get(word, word) for word in name.split("_"))
    return words if len(words) <= LONGEST else f"{words[: LONGEST - 3]}..."
