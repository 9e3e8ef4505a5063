import { memoryAccess, readFields, varintsOf, type WireField } from './protobuf-reader.js';

/** A node of a stored graph, as far as readers need it. */
export interface GraphNode {
  operator: string;
  inputs: string[];
  outputs: string[];
  /** Attributes that are whole numbers. */
  integers: Record<string, number>;
}

const nodeFields = { input: 1, output: 2, operator: 4, attribute: 5 } as const;
const attributeFields = { name: 1, integer: 3 } as const;

export async function decodeNode(encoded: Uint8Array): Promise<GraphNode> {
  const node: GraphNode = { operator: '', inputs: [], outputs: [], integers: {} };
  for await (const field of readFields(memoryAccess(encoded))) {
    if (field.number === nodeFields.input) node.inputs.push(textOf(encoded, field));
    if (field.number === nodeFields.output) node.outputs.push(textOf(encoded, field));
    if (field.number === nodeFields.operator) node.operator = textOf(encoded, field);
    if (field.number !== nodeFields.attribute) continue;
    const attribute = encoded.subarray(field.start, field.start + field.length);
    let name = '';
    for await (const part of readFields(memoryAccess(attribute))) {
      if (part.number === attributeFields.name) name = textOf(attribute, part);
      if (part.number === attributeFields.integer && part.wire === 0) {
        node.integers[name] = Number(varintsOf(part, attribute)[0]);
      }
    }
  }
  return node;
}

function textOf(bytes: Uint8Array, { start, length }: WireField): string {
  return Buffer.from(bytes.subarray(start, start + length)).toString('utf8');
}
