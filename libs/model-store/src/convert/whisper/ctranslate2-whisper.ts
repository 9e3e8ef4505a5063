import type { ByteSource } from '../byte-source.js';
import { invalidFile, quoted } from '../invalid-file.js';
import type { SafetensorsEntry } from '../safetensors/safetensors-header.js';
import { type Ctranslate2Model, readCtranslate2 } from './ctranslate2-file.js';
import { type StoredRows, wholeTensor } from '../layers/stored-weights.js';

/** Where the modules of Whisper are: by the names of the hubs, those of CTranslate2. */
const outerModules: Readonly<Record<string, string>> = {
  'encoder/conv1': 'encoder.conv1',
  'encoder/conv2': 'encoder.conv2',
  'encoder/position_encodings': 'encoder.embed_positions',
  'encoder/layer_norm': 'encoder.layer_norm',
  'decoder/embeddings': 'decoder.embed_tokens',
  'decoder/position_encodings': 'decoder.embed_positions',
  'decoder/layer_norm': 'decoder.layer_norm',
};

/** The same for the modules of a layer. Several names: parts of equal size, one below the other. */
const layerModules: Readonly<Record<string, readonly string[]>> = {
  'self_attention/layer_norm': ['self_attn_layer_norm'],
  'self_attention/linear_0': ['self_attn.q_proj', 'self_attn.k_proj', 'self_attn.v_proj'],
  'self_attention/linear_1': ['self_attn.out_proj'],
  'attention/layer_norm': ['encoder_attn_layer_norm'],
  'attention/linear_0': ['encoder_attn.q_proj'],
  'attention/linear_1': ['encoder_attn.k_proj', 'encoder_attn.v_proj'],
  'attention/linear_2': ['encoder_attn.out_proj'],
  'ffn/layer_norm': ['final_layer_norm'],
  'ffn/linear_0': ['fc1'],
  'ffn/linear_1': ['fc2'],
};

const parameters: Readonly<Record<string, string>> = {
  weight: 'weight',
  bias: 'bias',
  gamma: 'weight',
  beta: 'bias',
  encodings: 'weight',
};

/** Settings that the graph is made for: the exact GELU, norms before each module, and nothing else. */
const required: Readonly<Record<string, number>> = {
  'decoder/activation': 3,
  'decoder/alibi': 0,
  'decoder/pre_norm': 1,
  'decoder/scale_embeddings': 0,
  'decoder/start_from_zero_embedding': 0,
};

/** Settings that change nothing: of biases that are off, of the alignment that `config.json` says better, and sizes. */
const unneeded =
  /^decoder\/(?:alibi_use_positive_positions|scale_alibi|alignment_heads|alignment_layer|num_heads)$|^encoder\/num_heads$/;

const revision = 3;
const head = 'decoder/projection/weight';
const table = 'decoder/embeddings/weight';

export interface Ctranslate2Whisper {
  tensors: ReadonlyMap<string, StoredRows>;
  encoderHeads: number;
  decoderHeads: number;
}

/** Reads a Whisper of CTranslate2, without its values. Throws `INVALID_MODEL` for every other model. */
export async function openCtranslate2Whisper(file: ByteSource): Promise<Ctranslate2Whisper> {
  const model = await readCtranslate2(file);
  checkKind(file, model);
  if (model.aliases.get(head) !== table) throw invalidFile(file.name, 'its output layer is not its embeddings');
  return {
    tensors: hubTensors(file, model),
    encoderHeads: model.settings.get('encoder/num_heads') ?? 0,
    decoderHeads: model.settings.get('decoder/num_heads') ?? 0,
  };
}

/** Returns the embeddings, which are among the first tensors. Throws for what the list up to there rules out. */
export async function readCtranslate2Table(file: ByteSource): Promise<SafetensorsEntry> {
  const model = await readCtranslate2(file, table);
  checkKind(file, model);
  hubTensors(file, model);
  const found = model.tensors.get(table);
  if (found === undefined) throw invalidFile(file.name, `it has no tensor ${table}`);
  return found;
}

function checkKind(file: ByteSource, model: Ctranslate2Model): void {
  const refuse = (reason: string): Error => invalidFile(file.name, reason);
  if (model.spec !== 'WhisperSpec') throw refuse(`it is a ${quoted(model.spec)}, and only WhisperSpec is converted`);
  if (model.revision !== revision) {
    throw refuse(`it is in revision ${model.revision} of WhisperSpec, and only revision ${revision} is converted`);
  }
  for (const [name, value] of model.settings) {
    if (unneeded.test(name) || (Object.hasOwn(required, name) && required[name] === value)) continue;
    throw refuse(`its setting ${quoted(name)} is ${value}, which the graph does not have`);
  }
}

function hubTensors(file: ByteSource, { tensors }: Ctranslate2Model): Map<string, StoredRows> {
  const found = new Map<string, StoredRows>();
  for (const entry of tensors.values()) {
    if (!/^(?:F32|F16|BF16)$/.test(entry.dtype)) {
      throw invalidFile(
        file.name,
        `it is quantized: ${quoted(entry.name)} is of type ${entry.dtype}; use a float16 one`,
      );
    }
    const names = hubNames(entry.name);
    if (names.length === 0) {
      throw invalidFile(file.name, `it has a tensor ${quoted(entry.name)}, which Whisper does not have`);
    }
    const whole = wholeTensor({ file, entry });
    if (whole.rows % names.length > 0) {
      throw invalidFile(file.name, `the ${whole.rows} rows of ${quoted(entry.name)} are not ${names.length} parts`);
    }
    const rows = whole.rows / names.length;
    names.forEach((name, index) => found.set(name, { ...whole, from: index * rows, rows }));
  }
  return found;
}

/** Returns the names of the hubs for what a tensor holds; none for a tensor that Whisper does not have. */
function hubNames(name: string): string[] {
  const [, module = '', last = ''] = /^(.+)\/([^/]+)$/.exec(name) ?? [];
  const parameter = Object.hasOwn(parameters, last) ? parameters[last] : undefined;
  if (parameter === undefined) return [];
  if (Object.hasOwn(outerModules, module)) return [`${outerModules[module]}.${parameter}`];
  const [, part, layer, inner = ''] = /^(encoder|decoder)\/layer_(\d{1,4})\/(.+)$/.exec(module) ?? [];
  const modules = Object.hasOwn(layerModules, inner) ? (layerModules[inner] ?? []) : [];
  return modules.map((each) => `${part}.layers.${Number(layer)}.${each}.${parameter}`);
}
