import { readdir } from 'node:fs/promises';
import { join, relative, sep } from 'node:path';
import { type BertShape, emitBertEncoder } from './bert/bert-encoder.js';
import { SafetensorsFile } from './bert/safetensors-file.js';
import { refuseUnknownOptions } from './conversion-options.js';
import type { ConversionRequest, ConversionResult } from './conversion.js';
import { converterVersions } from './converter-versions.js';
import { InputFile } from './input-file.js';
import { invalidFile } from './invalid-file.js';
import { OutputFolder } from './output-folder.js';

const weightsFile = 'model.safetensors';
const configFile = 'config.json';
const tokenizerFile = 'tokenizer.json';
const tokenizerConfigFile = 'tokenizer_config.json';

/** Members of config.json that determine the graph. */
interface BertConfig {
  model_type?: string;
  num_hidden_layers: number;
  hidden_size: number;
  num_attention_heads: number;
  intermediate_size: number;
  vocab_size: number;
  max_position_embeddings: number;
  type_vocab_size: number;
  layer_norm_eps?: number;
  hidden_act?: string;
  position_embedding_type?: string;
}

/** Members of tokenizer.json that are read or dropped. */
interface BertTokenizerFile {
  normalizer?: { lowercase?: boolean } | null;
  truncation?: unknown;
  padding?: unknown;
}

const activations: Record<string, BertShape['activation']> = { gelu: 'gelu', gelu_new: 'gelu-tanh' };

/**
 * Converts a BERT encoder from PyTorch (`model.safetensors`, `config.json`, `tokenizer.json`) to an encoder graph in
 * float32, whatever the type of its weights. With dynamic quantisation, a text's vector would depend on its batch
 * (docs/decisions/embeddings-in-float32.md). Other JSON files, such as those of sentence-transformers, are copied. No
 * options.
 */
export async function convertBert(request: ConversionRequest): Promise<ConversionResult> {
  refuseUnknownOptions(request.options, []);
  const { inputFolder } = request;
  const shape = shapeOf(await readJson<BertConfig>(inputFolder, configFile));
  const tokenizer = await readJson<BertTokenizerFile>(inputFolder, tokenizerFile);
  const others = await otherJsonFiles(inputFolder);
  const output = new OutputFolder(request);
  const weights = await SafetensorsFile.open(inputFolder, weightsFile);
  try {
    const prefix = prefixOf(weights);
    checkTables(weights, prefix, shape);
    await output.writing(async () => {
      for (const name of others) await output.copy(name);
      // The packager may have fixed a length; our texts are rejected when too long, not truncated.
      await output.writeJson(tokenizerFile, { ...tokenizer, truncation: null, padding: null });
      if (!others.includes(tokenizerConfigFile)) {
        await output.writeJson(tokenizerConfigFile, tokenizerConfig(tokenizer, shape));
      }
      await output.writeGraph(emitBertEncoder(shape, { source: weights, prefix }));
    });
  } finally {
    await weights.close();
  }
  return { converter: converterVersions.bert, files: output.files };
}

function shapeOf(config: BertConfig): BertShape {
  const refuse = (reason: string) => invalidFile(configFile, reason);
  const { model_type: type = 'bert', hidden_act: act = 'gelu', position_embedding_type: position } = config;
  if (type !== 'bert') throw refuse(`its model_type is ${type}, not bert`);
  if (position !== undefined && position !== 'absolute') throw refuse(`its positions are ${position}`);
  const activation = Object.hasOwn(activations, act) ? activations[act] : undefined;
  if (activation === undefined) throw refuse(`its activation is ${act}`);
  const shape = {
    layers: config.num_hidden_layers,
    hiddenSize: config.hidden_size,
    heads: config.num_attention_heads,
    feedForwardSize: config.intermediate_size,
    vocabularySize: config.vocab_size,
    positions: config.max_position_embeddings,
    tokenTypes: config.type_vocab_size,
  };
  const wrong = Object.entries(shape).find(([, size]) => !Number.isInteger(size) || size < 1);
  if (wrong !== undefined) throw refuse(`it does not say how large ${wrong[0]} is`);
  return { ...shape, epsilon: config.layer_norm_eps ?? 1e-12, activation };
}

function prefixOf(weights: SafetensorsFile): string {
  const table = 'embeddings.word_embeddings.weight';
  const prefix = ['', 'bert.'].find((each) => weights.has(each + table));
  if (prefix === undefined) throw invalidFile(weightsFile, `it has no ${table}`);
  return prefix;
}

/** Checks sizes, because a file of another model would convert silently and return wrong vectors. */
function checkTables(weights: SafetensorsFile, prefix: string, shape: BertShape): void {
  const { hiddenSize, feedForwardSize, vocabularySize, positions, tokenTypes } = shape;
  const sizes: Record<string, number[]> = {
    'embeddings.word_embeddings.weight': [vocabularySize, hiddenSize],
    'embeddings.position_embeddings.weight': [positions, hiddenSize],
    'embeddings.token_type_embeddings.weight': [tokenTypes, hiddenSize],
    [`encoder.layer.${shape.layers - 1}.intermediate.dense.weight`]: [feedForwardSize, hiddenSize],
  };
  for (const [name, expected] of Object.entries(sizes)) {
    const found = weights.shapeOf(prefix + name);
    if (found.join() === expected.join()) continue;
    throw invalidFile(weightsFile, `${name} is [${found.join(', ')}] where config.json says [${expected.join(', ')}]`);
  }
}

function tokenizerConfig({ normalizer }: BertTokenizerFile, { positions }: BertShape): object {
  return {
    tokenizer_class: 'BertTokenizer',
    do_lower_case: normalizer?.lowercase ?? true,
    model_max_length: positions,
    pad_token: '[PAD]',
    unk_token: '[UNK]',
    cls_token: '[CLS]',
    sep_token: '[SEP]',
    mask_token: '[MASK]',
  };
}

async function otherJsonFiles(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile() && entry.name.endsWith('.json'));
  const names = files.map((entry) => relative(folder, join(entry.parentPath, entry.name)).split(sep).join('/'));
  return names.filter((name) => name !== tokenizerFile).toSorted();
}

async function readJson<Content>(folder: string, name: string): Promise<Content> {
  const file = await InputFile.open(folder, name);
  try {
    return JSON.parse(Buffer.from(await file.read(0, file.bytes)).toString('utf8')) as Content;
  } catch (error) {
    throw error instanceof SyntaxError ? invalidFile(name, 'it is not JSON') : error;
  } finally {
    await file.close();
  }
}
