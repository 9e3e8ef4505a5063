import { PlatformError } from '#common';
import type { MattingNetwork } from '#model-registry/matting';
import type { GraphSession, TensorDescription } from '../../runtime/graph-session.js';

/** Names of the input and of the output that a network uses. */
export interface MattingPorts {
  input: string;
  output: string;
}

const floats = ['float32', 'float16'];

/** Finds the ports of a graph. Throws `INVALID_MODEL` that names the option or the input by which they differ. */
export function mattingPorts({ inputs, outputs }: GraphSession, network: MattingNetwork): MattingPorts {
  const [input, ...others] = inputs;
  if (input === undefined || others.length > 0) {
    throw unfit(`it takes ${inputs.map(({ name }) => name).join(', ') || 'no input'}, and not one image`);
  }
  const [, channels, height, width] = input.shape;
  if (!floats.includes(input.type) || input.shape.length !== 4 || isOther(channels, 3)) {
    throw unfit(`its input ${described(input)} is no image of floats with the channels first`);
  }
  checkSize(network.size, { width, height });
  const output = network.output === null ? outputs[0] : outputs.find(({ name }) => name === network.output);
  if (output === undefined) {
    const names = outputs.map(({ name }) => name).join(', ');
    throw unfit(`it has no output ${String(network.output)}; there are ${names}`, 'familyOptions.output');
  }
  if (!floats.includes(output.type)) throw unfit(`its output ${described(output)} is no floats`);
  return { input: input.name, output: output.name };
}

type Side = number | string | undefined;

/** A graph that was exported for one size takes no other. */
function checkSize(size: MattingNetwork['size'], taken: { width: Side; height: Side }): void {
  for (const name of ['width', 'height'] as const) {
    const side = taken[name];
    if (typeof side !== 'number' || side <= 0) continue;
    if (size.kind === 'fixed' && size[name] === side) continue;
    const wanted = size.kind === 'fixed' ? `${name} is ${size[name]}` : `the size of images is within shortSide`;
    throw unfit(`${wanted}, and its input has a ${name} of ${side}`, `familyOptions.${name}`);
  }
}

function isOther(side: Side, wanted: number): boolean {
  return typeof side === 'number' && side > 0 && side !== wanted;
}

function described({ name, type, shape }: TensorDescription): string {
  return `${name} (${type}, ${shape.join(' × ')})`;
}

function unfit(reason: string, param: string | null = null): PlatformError {
  return new PlatformError('INVALID_MODEL', `The graph is not the matting network of its manifest: ${reason}.`, param);
}
