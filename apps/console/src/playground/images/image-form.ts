/** Texts as typed; empty means that the request leaves the field out. */
export interface ImageForm {
  prompt: string;
  negative: string;
  steps: string;
  seed: string;
  width: string;
  height: string;
  variants: string;
}

export const emptyImageForm: ImageForm = {
  prompt: 'a red apple',
  negative: '',
  steps: '',
  seed: '',
  width: '',
  height: '',
  variants: '1',
};

/** Returns the body of `POST /api/v1/image/generate`. */
export function imageRequestOf(model: string, form: ImageForm): Record<string, unknown> {
  const numbers = (['steps', 'seed', 'width', 'height'] as const).flatMap((name): [string, number][] =>
    form[name].trim() === '' ? [] : [[name, Number(form[name])]],
  );
  return {
    model,
    prompt: form.prompt,
    ...(form.negative.trim() === '' ? {} : { negative_prompt: form.negative }),
    ...Object.fromEntries(numbers),
    ...(form.variants === '1' ? {} : { variants: Number(form.variants) }),
    format: 'webp',
  };
}
