import { PlatformError } from '#common';
import type { InferenceServices } from '#jobs/api';
import {
  additionalInputs,
  type ImageJobPayload,
  mostPicturePixels,
  type PicturePricing,
  unitOfPicture,
} from '../contract/index.js';
import { assertOperation, editFormat, isRedrawn, plainPayload, promptLimitOf } from './edit-payloads.js';
import { type EditOrder, planEdit, sizeOfEdit } from './edit-plan.js';
import { enhancePrompt } from './enhance-prompt.js';
import type { PictureIntake } from './picture-intake.js';
import { admitImage, findImageModel, type FinishedPicture, type ImageExchange, runImage } from './run-image.js';

const minPixels = 65_536;

/** Rejects with what is wrong with the request, by its field, and as `runImage` does. Whoever made the intake releases it. */
export async function editPictures(
  services: InferenceServices,
  exchange: ImageExchange,
  intake: PictureIntake,
  order: EditOrder,
): Promise<FinishedPicture> {
  const { wire, pictures, param } = order;
  const name = wire.model ?? wire.modelId ?? 'default';
  const resolved = await findImageModel(services, exchange, { name, type: 'inpaint' });
  const { manifest } = resolved;
  assertOperation(manifest, 'edit');
  const plan = planEdit(order, manifest);
  const taken = [];
  for (const picture of pictures) {
    taken.push(await intake.take(picture, { param, urls: true, minPixels, maxPixels: mostPicturePixels }));
  }
  const admitted = await admitImage(services, exchange, resolved);
  const pricing = admitted.price.pricing as PicturePricing | null;
  const priceOfPicture = unitOfPicture(pricing, { flat: 'inpaint', ...plan });
  const [base] = taken;
  const safeMode = wire.safe_mode ?? true;
  const { prompt, units, announce } = await enhancePrompt(services, exchange, {
    prompt: wire.prompt,
    wanted: wire.enhance_prompt,
    kind: 'edit',
    safeMode,
    mostCharacters: promptLimitOf(manifest),
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
    priceOfPicture,
    extraUnits: { ...additionalInputs(pricing, taken.length), ...units },
  };
  const { pictures: finished } = await runImage(services, exchange, admitted, payload);
  announce();
  const [picture] = finished;
  if (picture === undefined) throw new PlatformError('IMAGE_EDIT_ERROR', 'The edit brought no picture.');
  return picture;
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
