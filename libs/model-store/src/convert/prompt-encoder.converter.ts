import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { openBertFiles, readJson } from './bert/bert-files.js';
import { configFile, EncoderSettings } from './bert/encoder-config.js';
import { refuseUnknownOptions } from './conversion-options.js';
import type { ConversionRequest, ConversionResult } from './conversion.js';
import { converterVersions } from './converter-versions.js';
import { filesBelow } from '../files-below.js';
import { invalidFile } from './invalid-file.js';
import { OutputFolder } from './output-folder.js';
import { buildClipVocabulary, clipFiles } from './prompt/clip-vocabulary.js';
import { emitPromptGraph, promptTokens } from './prompt/prompt-graph.js';
import { WordPiece } from './prompt/word-piece.js';
import { filesOfFolder, readJsonObject } from './safetensors/model-files.js';

const encoderFolder = 'text_encoder';
const tokenizerFile = 'tokenizer.json';
const wordsFile = 'tokenizer/words.txt';

interface WordPieceFile {
  model?: { type?: string; vocab?: Record<string, number> };
}

/**
 * Makes the prompt encoder of a diffusion model from a sentence encoder: `text_encoder/` has a BERT from PyTorch and its
 * WordPiece tokenizer, `tokenizer/words.txt` one more known word per line. The result is `text_encoder/model.onnx` and a
 * tokenizer in the CLIP format, which the family of the model reads. All other files are copied. No options.
 */
export async function convertPromptEncoder(request: ConversionRequest): Promise<ConversionResult> {
  refuseUnknownOptions(request.options, []);
  const folder = join(request.inputFolder, encoderFolder);
  const ids = await readWordPiece(folder);
  const vocabulary = buildClipVocabulary(new WordPiece(ids), await readWords(request.inputFolder));
  const others = await otherFiles(request.inputFolder);
  const output = new OutputFolder(request);
  const files = await filesOfFolder(folder);
  const settings = new EncoderSettings(await readJsonObject(files, configFile));
  const { shape, weights } = await openBertFiles(files, settings, ['bert']);
  const around = { first: requireToken(ids, '[CLS]'), last: requireToken(ids, '[SEP]') };
  try {
    await output.writing(async () => {
      for (const name of others) await output.copy(name);
      for (const [name, text] of Object.entries(clipFiles(vocabulary, promptTokens))) {
        await output.writeText(`tokenizer/${name}`, text);
      }
      const graph = emitPromptGraph({ shape, weights, pieces: vocabulary.pieces, ...around });
      await output.writeGraph(graph, `${encoderFolder}/model.onnx`);
    });
  } finally {
    await weights.source.close();
  }
  return { converter: converterVersions['prompt-encoder'], files: output.files };
}

async function readWordPiece(folder: string): Promise<Map<string, number>> {
  const { model } = await readJson<WordPieceFile>(folder, tokenizerFile);
  if (model?.type !== 'WordPiece' || model.vocab === undefined) {
    throw invalidFile(tokenizerFile, 'it is no WordPiece tokenizer');
  }
  return new Map(Object.entries(model.vocab));
}

function requireToken(ids: ReadonlyMap<string, number>, token: string): number {
  const id = ids.get(token);
  if (id === undefined) throw invalidFile(tokenizerFile, `it has no token ${token}`);
  return id;
}

async function readWords(folder: string): Promise<string[]> {
  const text = await readFile(join(folder, wordsFile), 'utf8').catch(() => {
    throw invalidFile(wordsFile, 'it is missing');
  });
  return text.split(/\r?\n/).filter((word) => word !== '');
}

async function otherFiles(folder: string): Promise<string[]> {
  const names = await filesBelow(folder);
  return names.filter((name) => name !== wordsFile && !name.startsWith(`${encoderFolder}/`));
}
