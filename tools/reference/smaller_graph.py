"""Shrinks an exported graph for a fixture. Keeps the computation and the names of inputs and outputs. Shortens all inner
names and merges repeated constants, which make up most of a tiny graph."""

import itertools

import onnx


def shrink(path):
    model = onnx.load(path)
    count = itertools.count()
    shrink_graph(model.graph, {}, count, kept={value.name for value in [*model.graph.input, *model.graph.output]})
    model.metadata_props.clear()
    onnx.checker.check_model(model)
    onnx.save(model, path)


def shrink_graph(graph, outer, count, kept):
    names = dict(outer)

    def short(name):
        if name == "" or name in kept:
            return name
        if name not in names:
            names[name] = f"v{next(count)}"
        return names[name]

    # Values of this graph shadow values of the same name in the outer graph.
    for name in [*(value.name for value in graph.initializer), *(name for node in graph.node for name in node.output)]:
        names.pop(name, None)
    for value in graph.initializer:
        value.name = short(value.name)
    constants = {}
    for node in list(graph.node):
        if node.op_type == "Constant" and node.output[0] not in kept:
            same = constants.setdefault(node.attribute[0].SerializeToString(deterministic=True), node.output[0])
            if same != node.output[0]:
                names[node.output[0]] = short(same)
                graph.node.remove(node)
    for node in graph.node:
        node.name = node.doc_string = ""
        node.metadata_props.clear()
        node.input[:] = [short(name) for name in node.input]
        node.output[:] = [short(name) for name in node.output]
        for attribute in node.attribute:
            if attribute.type == onnx.AttributeProto.GRAPH:
                shrink_graph(attribute.g, names, count, kept)
    for value in [*graph.input, *graph.output]:
        value.name = short(value.name)
    del graph.value_info[:]
    graph.name, graph.doc_string = "tiny", ""
