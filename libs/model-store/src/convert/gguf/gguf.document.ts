import { wordRuleNames, wordRules } from '../tokenizer/word-rules.js';
import { defaultBlockSize } from '../conversion-options.js';
import { bitsPerWeight, isRoundedAgain, precisionOf, storedFormat } from './gguf-precision.js';
import { ggufTypes, type GgufType } from './gguf-types.js';

/** Text of `docs/operate/gguf.md`: the tables are those that the converter uses. */
export function ggufDocument(): string {
  return `# GGUF files

This page lists the quantizations and tokenizers of GGUF files that [\`npx sluice models add\`](models.md#adding-a-model-of-your-own)
reads. The architectures are on [their own page](../reference/model-architectures.md).

## Quantizations

Every value is read exactly as by the reference library of the format. Each layer has the precision of its own tensor:
up to 5 bits per weight become \`int4\`, up to 9 \`int8\`, others \`float32\`. A Q4_K_M file, for example, has most layers in
4 bits, and those that it stores as Q6_K in 8.

A layer keeps the blocks of its type exactly, where the table says so. Block minima are applied in a
second, small matrix product. Values match to the last bit of a float, and a dense 4-bit model generates about a sixth more
slowly. Layers of other types are rounded a second time, to blocks of 32, unless the manifest's converter has the
options in the table; \`blockSize: 16\` makes \`int4\` about four times slower.

\`--weights\` chooses one precision for all layers: \`int4\`, \`int8\`, \`int8-channel\` or \`float32\`, without minima. In a manifest
these are \`weights\` of the converter; its default is \`stored\`.

| Type | Bits per weight | Becomes | Kept |
| --- | --- | --- | --- |
${[...ggufTypes.values()].map(typeRow).join('\n')}

The embedding table is stored in half precision, or in \`float32\` if it is F32 or BF16. The output layer is
\`int8\` where \`int4\` would round it, where it has minima, and where it has floats while layers have blocks. Experts whose
gate and up have different types are \`int8\` too.

Files without an output layer use the embedding table for it. Both stay one table where neither loses a value. That is so
for floats, and for types that are kept in blocks of 8 bits, such as Q8_0, Q6_K and Q5_0.
Tensors of other types are refused by name.

\`npx sluice models add\` names the types of a file that are rounded a second time. To measure what that or another
precision loses, add the same file twice:

\`\`\`sh
npx sluice models add ./model.Q4_K_M.gguf --id whole --weights float32 --pull
npx sluice models check model.q4_k_m --perplexity --beside whole   # loss in nats per token, and as perplexity
\`\`\`

## Shards

A model in several files (\`model-00001-of-00003.gguf\`) is added by the name of any of them, of its folder, or of its file
on the hub. Missing and mixed shards are refused by name. Fetch the shards of other web servers into a folder first.

## Projectors

A projector (\`mmproj\`) beside a decoder makes a model that [reads images](../guides/vision.md#gguf-files-with-a-projector).

## Tokenizers

These kinds of tokenizers are read:

| \`tokenizer.ggml.model\` | Kind |
| --- | --- |
| \`llama\` | pieces with scores (SentencePiece), with and without bytes for unknown characters |
| \`gpt2\` | byte pairs; \`tokenizer.ggml.pre\` names the rule that splits text into words |
| \`bert\` | WordPiece, of [encoders](../guides/embeddings.md#gguf-files) only |
| \`t5\` | pieces with probabilities (XLM-R), of encoders only |

A file without \`tokenizer.ggml.pre\` has the rule \`default\`. Unknown rules are refused by name, because another rule would
give wrong tokens.

| Rule | Same rule | Normalized |
| --- | --- | --- |
${wordRuleNames().map(ruleRow).join('\n')}

Each rule makes the tokens of the reference libraries, compared over 5,000 texts of many scripts, emoji and code.
Control tokens, tokens that a model's author added, and the chat templates in the file are used as they are.

## Damaged files

Headers are checked before anything is downloaded or written: counts, sizes, offsets, names, overlaps, tokens and the chat
template, in at most 64 MB.
Weights that are no numbers are found while a model is converted. Errors name the file, the tensor or the position, and
the reason; nothing is installed.
`;
}

function typeRow(type: GgufType): string {
  const bits = Number(bitsPerWeight(type).toFixed(4));
  return `| ${type.name} | ${bits} | \`${precisionOf(type)}\` | ${keptBy(type)} |`;
}

function keptBy(type: GgufType): string {
  const format = storedFormat(type, defaultBlockSize);
  if (!isRoundedAgain(type, format)) return format.kind === 'blocks' && format.hasOffset ? 'yes, with minima' : 'yes';
  const { bits, blockSize } = type.kept ?? {};
  const weights = bits === 8 ? ['`weights: int8`'] : [];
  const blocks = blockSize === 16 ? ['`blockSize: 16`'] : [];
  return `by ${[...weights, ...blocks].join(', ')}`;
}

function ruleRow([name = '', ...others]: string[]): string {
  const same = others.map((other) => `\`${other}\``).join(', ');
  return `| \`${name}\` | ${same} | ${wordRules.get(name)?.normalizer ?? ''} |`;
}
