import { decodeValue, type OnnxDataType } from '../onnx/index.js';
import { EditedGraph, type GraphFile } from './edited-graph.js';

/** Outputs with a row for each place whose logits are wanted. */
const rowsOfLogits: Readonly<Record<string, OnnxDataType>> = {
  logits: 'float32',
  topk_values: 'float32',
  topk_ids: 'int64',
  lse: 'float32',
  wanted_logits: 'float32',
};

/**
 * Returns the split graph with the logits of any places of a run, in place of one place per row: its input `last_index`
 * becomes `logit_places`, int64 `[places, 2]`, the batch row and the step of each. Returns null for graphs of another
 * layout, and for those with a state per row, which read it at the same place.
 */
export async function withLogitPlaces(file: GraphFile): Promise<Uint8Array | null> {
  const graph = await EditedGraph.open(file);
  if (graph === null || !graph.outputs.has('new_kv')) return null;
  const columns = graph.consumers('last_index');
  const [gather, ...others] = columns.flatMap(({ outputs }) => graph.consumers(outputs[0]));
  if (columns.length !== 1 || others.length > 0 || gather?.operator !== 'GatherND') return null;
  const { operator, outputs } = gather;
  const inputs = [gather.inputs[0] ?? '', 'logit_places'];
  graph.replaceNode(gather, { operator, domain: '', inputs, outputs, attributes: {} });
  graph.setInput({ name: 'logit_places', type: 'int64', dimensions: ['places', 2] });
  graph.setInput({ name: 'wanted_ids', type: 'int64', dimensions: ['places', 'wanted'] });
  for (const [name, type] of Object.entries(rowsOfLogits)) {
    const output = graph.outputs.get(name);
    if (output === undefined) continue;
    const [, ...rest] = (await decodeValue(output)).dimensions;
    graph.setOutput({ name, type, dimensions: ['places', ...rest] });
  }
  return await graph.encode();
}
