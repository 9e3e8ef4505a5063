import { PlatformError } from '#common';
import type { InferenceServices } from '#gateway';
import {
  additionalInputs,
  type ImageJobPayload,
  maxImagePixels,
  type ImageJobPricing,
  unitOfImage,
} from '../contract/index.js';
import { assertOperation, editFormat, isRedrawn, plainPayload, promptLimitOf } from './edit-payloads.js';
import { type EditOrder, planEdit, sizeOfEdit } from './edit-plan.js';
import { enhancePrompt } from './enhance-prompt.js';
import type { ImageInputReader } from './image-input-reader.js';
import { admitImage, findImageModel, type FinishedImage, type ImageHttpExchange, runImage } from './run-image.js';

const minPixels = 65_536;

/** Rejects with what is wrong with the request, by its field, and as `runImage` does. Whoever made the intake releases it. */
export async function editImages(
  services: InferenceServices,
  exchange: ImageHttpExchange,
  inputReader: ImageInputReader,
  order: EditOrder,
): Promise<FinishedImage> {
  const { wire, images, param } = order;
  const name = wire.model ?? wire.modelId ?? 'default';
  const resolved = await findImageModel(services, exchange, { name, type: 'inpaint' });
  const { manifest } = resolved;
  assertOperation(manifest, 'edit');
  const plan = planEdit(order, manifest);
  const taken = [];
  for (const image of images) {
    taken.push(await inputReader.take(image, { param, urls: true, minPixels, maxPixels: maxImagePixels }));
  }
  const admitted = await admitImage(services, exchange, resolved);
  const pricing = admitted.price.pricing as ImageJobPricing | null;
  const priceOfImage = unitOfImage(pricing, { flat: 'inpaint', ...plan });
  const [base] = taken;
  const safeMode = wire.safe_mode ?? true;
  const { prompt, units, announce } = await enhancePrompt(services, exchange, {
    prompt: wire.prompt,
    wanted: wire.enhance_prompt,
    kind: 'edit',
    safeMode,
    maxCharacters: promptLimitOf(manifest),
  });
  const payload: ImageJobPayload = {
    ...plainPayload(
      'edit',
      taken.map(({ artifactId }) => artifactId),
    ),
    ...(base !== undefined && isRedrawn(manifest) ? sizeOfEdit(plan, base.header) : {}),
    ...redrawing(manifest.familyOptions),
    prompt,
    format: editFormat(wire.output_format, plan.resolution),
    safeMode,
    priceOfImage,
    extraUnits: { ...additionalInputs(pricing, taken.length), ...units },
  };
  const { images: finished } = await runImage(services, exchange, admitted, payload);
  announce();
  const [image] = finished;
  if (image === undefined) throw new PlatformError('IMAGE_EDIT_ERROR', 'The edit brought no picture.');
  return image;
}

/** How a family that draws anew does it. */
function redrawing(
  options: Readonly<Record<string, unknown>> = {},
): Pick<ImageJobPayload, 'steps' | 'guidance' | 'strength'> {
  const number = (name: string, absent: number): number => {
    const value = options[name];
    return typeof value === 'number' ? value : absent;
  };
  return { steps: number('steps', 20), guidance: number('guidance', 7.5), strength: number('strength', 0.75) };
}
