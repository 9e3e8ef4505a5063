import { emitAlibiEncoder } from './bert/alibi-encoder.js';
import { isAlibi, openAlibiFiles } from './bert/alibi-files.js';
import { emitBertEncoder } from './bert/bert-encoder.js';
import { bertTypes, openBertFiles, readJson } from './bert/bert-files.js';
import type { ClassifierHead } from './bert/classifier-head.js';
import type { EncoderHead } from './bert/encoder-head.js';
import { configFile, EncoderSettings } from './bert/encoder-config.js';
import { emitRotaryEncoder } from './bert/rotary-encoder.js';
import { openRotaryFiles, rotaryTypes } from './bert/rotary-files.js';
import { refuseUnknownOptions } from './conversion-options.js';
import type { ConversionRequest, ConversionResult } from './conversion.js';
import { converterVersions } from './converter-versions.js';
import { filesBelow } from '../files-below.js';
import type { OnnxGraph } from '../onnx/index.js';
import { OutputFolder } from './output-folder.js';
import type { SafetensorsFile } from './bert/safetensors-file.js';
import { filesBelowFolder, type ModelFiles, readJsonObject } from './safetensors/model-files.js';
import { openSentenceHead } from './sentence/dense-weights.js';
import { readSentenceLayout } from './sentence/sentence-layout.js';

const tokenizerFile = 'tokenizer.json';
/** Names the shards of the input. */
const indexFile = 'model.safetensors.index.json';
const tokenizerConfigFile = 'tokenizer_config.json';

/** Members of tokenizer.json that are read or dropped. */
interface EncoderTokenizerFile {
  normalizer?: { lowercase?: boolean } | null;
  added_tokens?: { content: string }[];
  truncation?: unknown;
  padding?: unknown;
}

/**
 * Converts a text encoder from PyTorch (`model.safetensors` or its shards, `config.json`, `tokenizer.json`) to a graph in float32,
 * whatever the type of its weights: BERT, RoBERTa, XLM-R, CamemBERT, MPNet, Nomic, GTE, ModernBERT and Jina. A model with a
 * classifier of one class becomes a cross-encoder, with `logits` as output. Layers behind the pooling are part of the
 * graph, which then returns `sentence_embedding`. With dynamic quantisation, a text's vector would depend on its batch
 * (docs/decisions/embeddings-in-float32.md). Other JSON files, such as those of sentence-transformers, are copied. No
 * options.
 */
export async function convertBert(request: ConversionRequest): Promise<ConversionResult> {
  refuseUnknownOptions(request.options, []);
  const { inputFolder } = request;
  const tokenizer = await readJson<EncoderTokenizerFile>(inputFolder, tokenizerFile);
  const others = await otherJsonFiles(inputFolder);
  const output = new OutputFolder(request);
  const { graph, positions, close } = await openEncoder(await filesBelowFolder(inputFolder));
  try {
    await output.writing(async () => {
      for (const name of others) await output.copy(name);
      // The packager may have fixed a length; our texts are rejected when too long, not truncated.
      await output.writeJson(tokenizerFile, { ...tokenizer, truncation: null, padding: null });
      if (!others.includes(tokenizerConfigFile)) {
        await output.writeJson(tokenizerConfigFile, tokenizerConfig(tokenizer, positions));
      }
      await output.writeGraph(graph());
    });
  } finally {
    await close();
  }
  return { converter: converterVersions.bert, files: output.files };
}

interface OpenEncoder {
  graph: () => OnnxGraph;
  /** Longest text in tokens. */
  positions: number;
  close: () => Promise<void>;
}

/**
 * Throws `INVALID_MODEL` for an encoder that the conversion would refuse. Reads the configuration and the headers only,
 * of layers behind the pooling too.
 */
export async function checkEncoder(files: ModelFiles): Promise<void> {
  const { close } = await openEncoder(files);
  await close();
}

async function openEncoder(files: ModelFiles): Promise<OpenEncoder> {
  const settings = new EncoderSettings(await readJsonObject(files, configFile));
  if (rotaryTypes.includes(settings.type)) {
    const { shape, weights, head } = await openRotaryFiles(files, settings);
    const { source } = weights;
    return withHead(files, { shape, source, head }, (behind) => emitRotaryEncoder(shape, weights, behind));
  }
  if (isAlibi(settings)) {
    const { shape, weights, head } = await openAlibiFiles(files, settings);
    const { source } = weights;
    return withHead(files, { shape, source, head }, (behind) => emitAlibiEncoder(shape, weights, behind));
  }
  if (!bertTypes.includes(settings.type)) {
    const known = [...bertTypes, ...rotaryTypes].join(', ');
    throw settings.refuse(`its model_type is ${settings.type}, not one of ${known}`);
  }
  const { shape, weights, head } = await openBertFiles(files, settings);
  const { source } = weights;
  return withHead(files, { shape, source, head }, (behind) => emitBertEncoder(shape, weights, behind));
}

interface EncoderFiles {
  shape: { hiddenSize: number; positions: number };
  source: SafetensorsFile;
  head: ClassifierHead | null;
}

/** Adds the layers behind the pooling, where the model has any. */
async function withHead(
  files: ModelFiles,
  { shape, source, head }: EncoderFiles,
  emit: (behind: EncoderHead | null) => OnnxGraph,
): Promise<OpenEncoder> {
  const { positions, hiddenSize: size } = shape;
  if (head !== null) {
    return { graph: () => emit({ kind: 'classifier', head }), positions, close: () => source.close() };
  }
  try {
    const layout = await readSentenceLayout(files);
    if (layout?.kind !== 'embedding' || layout.dense.length === 0) {
      return { graph: () => emit(null), positions, close: () => source.close() };
    }
    const opened = await openSentenceHead(files, { ...layout, size });
    const close = async (): Promise<void> => {
      await opened.close();
      await source.close();
    };
    return { graph: () => emit({ kind: 'sentence', head: opened.head }), positions, close };
  } catch (error) {
    await source.close();
    throw error;
  }
}

/** The special tokens of BERT, or those of RoBERTa where the tokenizer has them. */
function tokenizerConfig({ normalizer, added_tokens: added = [] }: EncoderTokenizerFile, positions: number): object {
  const isRoberta = added.some(({ content }) => content === '<pad>');
  const words = isRoberta
    ? { pad_token: '<pad>', unk_token: '<unk>', cls_token: '<s>', sep_token: '</s>', mask_token: '<mask>' }
    : { pad_token: '[PAD]', unk_token: '[UNK]', cls_token: '[CLS]', sep_token: '[SEP]', mask_token: '[MASK]' };
  return {
    tokenizer_class: isRoberta ? 'RobertaTokenizer' : 'BertTokenizer',
    do_lower_case: normalizer?.lowercase ?? true,
    model_max_length: positions,
    ...words,
  };
}

async function otherJsonFiles(folder: string): Promise<string[]> {
  const names = (await filesBelow(folder)).filter((name) => name.endsWith('.json'));
  return names.filter((name) => name !== tokenizerFile && name !== indexFile);
}
