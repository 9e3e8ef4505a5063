import { jsonFault } from '../convert/invalid-file.js';
import { parsePythonJson } from '../convert/python-json.js';
import { addedAsExport } from '../convert/exported-families.js';
import { chooseHubGraph, configurationFiles, type GraphKind } from './hub-files.js';
import { pullError } from './pull-error.js';

/* How text models in the transformers.js layout are recognized. */

/** A package's own metadata files are not the model's. */
export function isConfiguration(path: string): boolean {
  return configurationFiles.test(path) && path !== 'package.json';
}

export function requireGraph(paths: string[], kind: GraphKind, where: string): string {
  const graph = chooseHubGraph(paths, kind);
  if (graph) return graph;
  if (paths.some(isPickled)) throw pullError(`${where} holds weights as ${pickled}.`);
  throw pullError(`${where} holds no graph such as onnx/model_q4.onnx or onnx/model.onnx.`);
}

/** Weights in Python's own format, which may run code when it is read. */
export function isPickled(path: string): boolean {
  return /(?:^|\/)pytorch_model[^/]*\.bin$|\.(?:pt|pth|ckpt)$/.test(path);
}

/** Why such files are not read, and what to do. */
export const pickled =
  'PyTorch pickles, which are not read because they can run code; save the model as safetensors (save_pretrained of transformers does), or add its GGUF file';

const encoderArchitecture =
  /^(?:\w*Bert|\w*Roberta|XLM|MPNet|Electra|Deberta|Camembert|\w*BERT|Gte|New)\w*(?:Model|ForMaskedLM)$/;
const decoderArchitecture = /ForCausalLM$|^(?:GPT2|JAIS)LMHeadModel$/;

/**
 * Returns the kind of text model. Encoders are published as such, or with the task head they were first trained for. A
 * configuration without an architecture is treated as a decoder's; any other architecture is not supported.
 */
export function kindOf(config: Record<string, unknown>, where: string): GraphKind {
  const { architectures } = config;
  const [architecture] = Array.isArray(architectures) ? architectures.map(String) : [];
  if (architecture === undefined || decoderArchitecture.test(architecture)) return 'decoder';
  if (encoderArchitecture.test(architecture)) return 'encoder';
  if (architecture.endsWith('ForSequenceClassification') && hasOneClass(config)) return 'cross-encoder';
  const runs = 'decoders (…ForCausalLM), encoders (such as BertModel) and classifiers with one class (rerankers)';
  const instead = addedAsExport(architecture);
  const hint = instead === null ? '' : ` However, ${instead}.`;
  throw pullError(`${where} has a ${architecture.slice(0, 80)}; of text models, ${runs} can be added.${hint}`);
}

/** A score instead of classes: how relevant the second of two texts is to the first. */
function hasOneClass({ id2label: labels, num_labels: count }: Record<string, unknown>): boolean {
  if (typeof labels === 'object' && labels !== null) return Object.keys(labels).length === 1;
  return count === 1;
}

export function parseJson(text: string, path: string, where: string): Record<string, unknown> {
  try {
    return parsePythonJson(text) as Record<string, unknown>;
  } catch (error) {
    const reason = text === '' ? '' : `: ${jsonFault(error)}`;
    throw pullError(`${where} has no readable ${path}${reason}.`, error);
  }
}

export function lastPart(name: string): string {
  return name.slice(name.lastIndexOf('/') + 1);
}

const maxNamed = 12;

/** Returns a sentence with the first names, and the number of the others. */
export function listNames(names: readonly string[]): string {
  const more = names.length > maxNamed ? ` and ${names.length - maxNamed} more` : '';
  return `There are: ${names.slice(0, maxNamed).join(', ')}${more}.`;
}

/** `model.q4_k_m` for `model.q4_k_m.gguf`, and for its shards. */
export function withoutEnding(name: string): string {
  return name.replace(/(?:-\d{5}-of-\d{5})?\.gguf$/i, '');
}
