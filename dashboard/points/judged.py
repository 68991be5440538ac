"""The fidelity of a picture that a reader is shown: on held-out sentences, where the corpus is large enough to have any."""

import xarray as xr


def shown_fidelity(opened: xr.Dataset) -> xr.DataArray:
    """Measures (measure, layer, head) on the sentences that `judged_on` of a view names."""
    held_out = opened.fidelity.sel(judged="held_out")
    any_held_out = bool(held_out.sel(measure="spearman").notnull().any())
    return held_out if any_held_out else opened.fidelity.sel(judged="fitted")
