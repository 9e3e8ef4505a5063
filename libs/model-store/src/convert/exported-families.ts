/** A kind of model whose ONNX export can be added, and whose weights in other formats cannot. */
const exportedFamilies = [
  { architectures: /^Whisper/, what: 'Whisper models' },
  {
    architectures: /^LlavaForConditionalGeneration$/,
    what: 'this model that reads images',
  },
  { architectures: /^Musicgen/, what: 'MusicGen models' },
];

/** Says how a model of the architecture can be added all the same; null if no family runs it. */
export function addedAsExport(architecture: string): string | null {
  const found = exportedFamilies.find(({ architectures }) => architectures.test(architecture));
  if (found === undefined) return null;
  return `exports of ${found.what} can be added: repositories with onnx/decoder_model_merged.onnx`;
}
