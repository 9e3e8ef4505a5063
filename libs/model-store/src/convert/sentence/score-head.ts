import { scoreTensor } from '../decoder/decoder-purpose.js';
import { weightNames } from '../decoder/decoder-shape.js';
import type { DecoderSource } from '../decoder/decoder-source.js';
import type { ScoreHead } from '../decoder/pooled-decoder.js';
import type { SourceDecoder } from '../decoder/source-decoder.js';
import { invalidFile } from '../invalid-file.js';

/** Ids of the tokens whose logits are compared. */
export interface ScoreTokens {
  trueToken: number;
  falseToken: number;
}

/**
 * The score of a reranker: a layer of its own, or the logit of one token minus that of another, whose sigmoid is the
 * share of the first of the two. `labels` name the rows of a layer with two, `yes` and `no`.
 */
export function scoreHead(
  source: DecoderSource,
  decoder: SourceDecoder,
  { tokens, labels }: { tokens: () => ScoreTokens; labels: readonly string[] },
): ScoreHead {
  const { fileName, tensors } = source;
  const layer = tensors.get(scoreTensor);
  if (layer === undefined) return comparedTokens(source, decoder, tokens());
  if (tensors.has('cls.output.bias')) throw invalidFile(fileName, 'its score has a bias, which is not computed here');
  const [size = 0, count = 1] = layer.dimensions;
  if (size !== decoder.shape.hiddenSize) throw invalidFile(fileName, `its score takes ${size} values`);
  if (count === 1) return { weights: () => layer.rows(0, 1) };
  const [yes, no] = [labels.indexOf('yes'), labels.indexOf('no')];
  if (count !== 2 || yes < 0 || no < 0) {
    throw invalidFile(fileName, `it has ${count} classes, where rerankers have one score, or the classes yes and no`);
  }
  return { weights: () => difference(layer.rows(yes, yes + 1), layer.rows(no, no + 1)) };
}

function comparedTokens(source: DecoderSource, decoder: SourceDecoder, tokens: ScoreTokens): ScoreHead {
  const { shape } = decoder;
  const { trueToken, falseToken } = tokens;
  if (shape.logitSoftCap !== undefined || shape.bias.head) {
    throw invalidFile(source.fileName, 'its output layer has a cap or a bias, so its logits cannot be compared here');
  }
  const beyond = [trueToken, falseToken].find((id) => id >= shape.vocabularySize);
  if (beyond !== undefined) throw invalidFile(source.fileName, `it has no token ${beyond}`);
  const row = (id: number): Promise<Float32Array> => decoder.rows(weightNames.head, id, id + 1);
  const factor = shape.scales?.logits ?? 1;
  return { weights: async () => (await difference(row(trueToken), row(falseToken))).map((value) => value * factor) };
}

async function difference(left: Promise<Float32Array>, right: Promise<Float32Array>): Promise<Float32Array> {
  const [minuend, subtrahend] = await Promise.all([left, right]);
  return minuend.map((value, index) => value - (subtrahend[index] ?? 0));
}
