import { invalidFile } from './invalid-file.js';
import type { SentencePieceVocabulary } from './tokenizer/sentencepiece-tokenizer.js';
import type { AddedToken } from './tokenizer/tokenizer-json.js';

const specials = ['<unk>', '<s>', '</s>'];
const byteTokens = 256;

/**
 * A llama2.c `tokenizer.bin`: int32 longest token, then for each token float32 score, int32 byte length, bytes. Ids 0
 * to 2 are special tokens and 3 to 258 bytes, whatever their texts. In the others a space stands for `▁`.
 */
export function readLlama2cTokenizer(name: string, bytes: Uint8Array, vocabularySize: number): SentencePieceVocabulary {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const pieces: string[] = [];
  const scores = new Float32Array(vocabularySize);
  let position = 4;
  for (let id = 0; id < vocabularySize; id++) {
    const length = position + 8 <= buffer.length ? buffer.readInt32LE(position + 4) : -1;
    if (length < 0 || position + 8 + length > buffer.length) {
      throw invalidFile(name, `its tokenizer ends inside token ${id} of ${vocabularySize}`);
    }
    scores[id] = buffer.readFloatLE(position);
    pieces.push(pieceText(id, buffer.toString('utf8', position + 8, position + 8 + length)));
    position += 8 + length;
  }
  if (position !== buffer.length) {
    throw invalidFile(name, `${buffer.length - position} bytes follow its ${vocabularySize} tokens`);
  }
  const added: AddedToken[] = specials.map((content, id) => ({ id, content, special: true }));
  const [unknown = null, bos = null, eos = null] = added;
  return { pieces, scores, added, unknown, bos, eos, addsBos: true, addsEos: false, addsSpace: true };
}

function pieceText(id: number, stored: string): string {
  const special = specials[id];
  if (special !== undefined) return special;
  const byte = id - specials.length;
  if (byte < byteTokens) return `<0x${byte.toString(16).toUpperCase().padStart(2, '0')}>`;
  return stored.replaceAll(' ', '▁');
}
