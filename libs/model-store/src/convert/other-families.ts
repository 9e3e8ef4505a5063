/** A kind of model that a family runs from a manifest, and that `models add` does not draft. */
const otherFamilies = [
  {
    architectures: /^Whisper/,
    what: 'the ONNX export of a Whisper model runs',
    family: 'whisper',
    page: 'models/whisper-tiny.yaml is one to copy',
  },
  {
    architectures: /^(?:Idefics3|SmolVLM|Llava|Qwen2VL)ForConditionalGeneration$/,
    what: 'the ONNX export of this model that reads images runs',
    family: 'vision-language',
    page: 'docs/guides/vision.md shows one',
  },
  {
    architectures: /^Musicgen/,
    what: 'the ONNX export of a MusicGen model runs',
    family: 'musicgen',
    page: 'models/README.md shows one',
  },
];

/** Says how a model of the architecture can be served all the same; null if no family runs it. */
export function servedByManifest(architecture: string): string | null {
  const found = otherFamilies.find(({ architectures }) => architectures.test(architecture));
  if (found === undefined) return null;
  return `${found.what} with a manifest of \`family: ${found.family}\`; ${found.page}`;
}
