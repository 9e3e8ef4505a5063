import { wordRuleNames } from '../tokenizer/word-rules.js';
import { defaultBlockSize } from '../conversion-options.js';
import { isRoundedAgain, precisionOf, storedFormat } from './gguf-precision.js';
import { ggufTypes, type GgufType } from './gguf-types.js';

/** Text of `docs/operate/gguf.md`: the tables are those that the converter uses. */
export function ggufDocument(): string {
  const rules = wordRuleNames();
  return `# GGUF files

This page lists the quantizations and tokenizers of GGUF files that [\`npx sluice models add\`](models.md#adding-a-model-of-your-own)
reads. The architectures are on [their own page](../reference/model-architectures.md).

## Quantizations

Each layer has the precision of its own tensor: up to 5 bits per weight become \`int4\`, up to 9 \`int8\`, others
\`float32\`. The table says which types keep their blocks:

| Types | Become | Kept |
| --- | --- | --- |
${typeRows().join('\n')}

Types that are not kept are rounded a second time, to blocks of 32, unless the manifest's converter has the options in the
table. \`blockSize: 16\` makes \`int4\` about four times slower, and minima a dense 4-bit model about a sixth.

\`--weights\` chooses one precision for all layers: \`int4\`, \`int8\`, \`int8-channel\` or \`float32\`, without minima. In a manifest
this is \`weights\` of the converter; its default is \`stored\`.

The embedding table is stored in half precision, or in \`float32\` if it is F32 or BF16. The output layer is \`int8\` where
\`int4\` would round it. To measure what a precision loses, add the same file twice:

\`\`\`sh
npx sluice models add ./model.Q4_K_M.gguf --id whole --weights float32 --pull
npx sluice models check model.q4_k_m --perplexity --beside whole   # loss in nats per token, and as perplexity
\`\`\`

## Shards and projectors

A model in several files (\`model-00001-of-00003.gguf\`) is added by the name of any of them, of its folder, or of its file
on the hub. Fetch the shards of other web servers into a folder first. With a projector (\`mmproj\`) beside it, a decoder
[reads images](../guides/vision.md#gguf-files-with-a-projector).

## Tokenizers

These values of \`tokenizer.ggml.model\` are read: \`llama\` (SentencePiece), \`gpt2\` (byte pairs), and for
[encoders](../guides/embeddings.md#gguf-files) only \`bert\` (WordPiece) and \`t5\` (XLM-R). With \`gpt2\`,
\`tokenizer.ggml.pre\` names the rule that splits text into words; without it the rule is \`default\`. Unknown rules are
refused by name.

These rules have one name: ${namesOf(rules.filter(({ length }) => length === 1).flat())}.

These rules have several names:

${rules
  .filter(({ length }) => length > 1)
  .map((names) => `- ${namesOf(names)}`)
  .join('\n')}
`;
}

/** One row for the types that become the same and are kept in the same way. */
function typeRows(): string[] {
  const rows = new Map<string, string[]>();
  for (const type of ggufTypes.values()) {
    const end = `| \`${precisionOf(type)}\` | ${keptBy(type)} |`;
    rows.set(end, [...(rows.get(end) ?? []), type.name]);
  }
  return [...rows].map(([end, names]) => `| ${names.join(', ')} ${end}`);
}

function namesOf(names: readonly string[]): string {
  return names.map((name) => `\`${name}\``).join(', ');
}

function keptBy(type: GgufType): string {
  const format = storedFormat(type, defaultBlockSize);
  if (!isRoundedAgain(type, format)) return format.kind === 'blocks' && format.hasOffset ? 'yes, with minima' : 'yes';
  const { bits, blockSize } = type.kept ?? {};
  const weights = bits === 8 ? ['`weights: int8`'] : [];
  const blocks = blockSize === 16 ? ['`blockSize: 16`'] : [];
  return `by ${[...weights, ...blocks].join(', ')}`;
}
