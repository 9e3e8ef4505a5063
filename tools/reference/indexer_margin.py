"""Says how far rounding is from changing which positions an indexer chooses."""

import torch


def watch_indexers(model):
    """Returns a function that gives the smallest distance so far between a chosen position and the best one left out."""
    distances = [float("inf")]
    topk = torch.Tensor.topk

    def measured(scores, count, *others, **named):
        if count < scores.shape[-1]:
            chosen, left = topk(scores, count + 1, dim=-1).values[..., -2:].unbind(-1)
            visible = left > torch.finfo(scores.dtype).min / 2
            distances[0] = min([distances[0], *(chosen - left)[visible].tolist()])
        return topk(scores, count, *others, **named)

    def watched(forward):
        def run(*inputs, **named):
            torch.Tensor.topk = measured
            try:
                return forward(*inputs, **named)
            finally:
                torch.Tensor.topk = topk

        return run

    for module in model.modules():
        if type(module).__name__.endswith("Indexer"):
            module.forward = watched(module.forward)
    return lambda: distances[0]
