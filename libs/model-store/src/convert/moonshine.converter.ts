import { refuseUnknownOptions } from './conversion-options.js';
import type { ConversionRequest, ConversionResult } from './conversion.js';
import { converterVersions } from './converter-versions.js';
import { InputFile } from './input-file.js';
import { invalidFile } from './invalid-file.js';
import { OutputFolder } from './output-folder.js';
import { llamaTokenizerConfig, sentencePieceTokenizerJson } from './tokenizer/sentencepiece-tokenizer.js';

const graphs = ['encoder_model.onnx', 'decoder_model_merged.onnx', 'silero_vad.onnx'];
const vocabularyFile = 'llama-tokenizer.js';
const specials = ['<unk>', '<s>', '</s>'];

/**
 * Moonshine as its authors publish it for browsers → installed model. The graphs are copied; the tokenizer is LLaMA's,
 * whose vocabulary is read from the source of a library that is not run.
 *
 * The input is `encoder_model.onnx`, `decoder_model_merged.onnx`, Silero's `silero_vad.onnx` and `llama-tokenizer.js`.
 * No options.
 */
export async function convertMoonshine(request: ConversionRequest): Promise<ConversionResult> {
  refuseUnknownOptions(request.options, []);
  const output = new OutputFolder(request);
  const pieces = await readPieces(request.inputFolder);
  const added = specials.map((content, id) => ({ id, content, special: true }));
  const [unknown = null, bos = null, eos = null] = added;
  await output.writing(async () => {
    for (const name of graphs) await output.copy(name);
    // In this vocabulary the pieces are in the order in which they were merged.
    const scores = Float32Array.from(pieces, (_piece, id) => -id);
    const vocabulary = { pieces, scores, added, unknown, bos, eos, addsBos: true, addsEos: false, addsSpace: true };
    await output.writeJson('tokenizer.json', sentencePieceTokenizerJson(vocabulary));
    await output.writeJson('tokenizer_config.json', llamaTokenizerConfig);
  });
  return { converter: converterVersions.moonshine, files: output.files };
}

/** Parses the base64 list: one piece per line, by id. */
async function readPieces(folder: string): Promise<string[]> {
  const file = await InputFile.open(folder, vocabularyFile);
  try {
    const source = Buffer.from(await file.read(0, file.bytes)).toString('utf8');
    const [, encoded] = /\bllama_vocab_base64\s*=\s*["'`]([A-Za-z0-9+/=]+)["'`]/.exec(source) ?? [];
    if (encoded === undefined) throw invalidFile(vocabularyFile, 'it holds no vocabulary');
    const pieces = Buffer.from(encoded, 'base64').toString('utf8').split('\n');
    const isWhole = specials.every((special, id) => pieces[id] === special) && pieces[specials.length] === '<0x00>';
    if (!isWhole) throw invalidFile(vocabularyFile, 'its vocabulary does not begin as it must');
    return pieces;
  } finally {
    await file.close();
  }
}
