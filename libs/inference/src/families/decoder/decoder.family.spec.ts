import { readFileSync } from 'node:fs';
import { buildTinyModel, type TinyModelOptions } from '#test/tiny-models';
import { describeFamily } from '../../../../../test/conformance/families/describe-family.js';
import { loadDecoderFamily } from './decoder.family.js';

/** Text of each tiny shape, recorded from the float32 split graph. Every other float32 layout must write the same. */
const golden = JSON.parse(readFileSync(new URL('./__fixtures__/golden.json', import.meta.url), 'utf8')) as Record<
  string,
  string
>;

const cases: Required<Pick<TinyModelOptions, 'shape' | 'layout' | 'dtype'>>[] = [
  { shape: 'llama', layout: 'split', dtype: 'float32' },
  { shape: 'qwen', layout: 'split', dtype: 'float32' },
  { shape: 'phi', layout: 'split', dtype: 'float32' },
  { shape: 'llama', layout: 'split', dtype: 'int4' },
  { shape: 'llama', layout: 'split', dtype: 'int8' },
  { shape: 'llama', layout: 'concat', dtype: 'float32' },
  { shape: 'qwen', layout: 'group-query', dtype: 'float32' },
  { shape: 'phi', layout: 'concat', dtype: 'float16' },
];

for (const { shape, layout, dtype } of cases) {
  describeFamily({
    name: `decoder: ${shape}, ${layout}, ${dtype}`,
    load: loadDecoderFamily,
    build: (folder) => buildTinyModel(folder, { shape, layout, dtype }),
    golden: dtype === 'float32' ? (golden[shape] ?? '') : null,
  });
}
