import { PlatformError } from '#common';
import type { InferenceServices } from '#jobs/api';
import { additionalInputs, type ImageJobPayload, type PicturePricing, unitOfPicture } from '../contract/index.js';
import type { EditImageRequest, MultiEditImageRequest, WirePicture } from '../contract/image.request.js';
import { assertOperation, editFormat, plainPayload, promptLimitOf, sizeLike } from './edit-payloads.js';
import { enhancePrompt } from './enhance-prompt.js';
import type { PictureIntake } from './picture-intake.js';
import { admitImage, findImageModel, type FinishedPicture, type ImageExchange, runImage } from './run-image.js';

/** What the constraints of a model of type inpaint say (contract 9.1). */
interface EditConstraints {
  aspectRatios: string[];
  promptCharacterLimit: number;
  combineImages: boolean;
  maxInputImages?: number;
  singleImageAspectRatio?: boolean;
  resolutions?: string[];
  defaultResolution?: string;
  qualities?: string[];
  defaultQuality?: string;
}

/** One edit, whichever of the two routes it came by. */
export interface EditOrder {
  wire: Omit<EditImageRequest, 'image' | 'model'> & Pick<Partial<EditImageRequest>, 'model'>;
  pictures: WirePicture[];
  /** Field to name in errors. */
  param: string;
}

const defaultMostInputs = 3;
const minPixels = 65_536;
const maxPixels = 33_177_600;
/** Latents are an eighth of a picture; most networks halve those three times. */
const divisor = 64;
const mostRedrawnPixels = 1_048_576;

export function orderOfEdit({ image, ...wire }: EditImageRequest): EditOrder {
  return { wire, pictures: [image], param: 'image' };
}

export function orderOfMultiEdit({ images, ...wire }: MultiEditImageRequest): EditOrder {
  return { wire, pictures: images, param: 'images' };
}

/** Rejects with what is wrong with the request, by its field, and as `runImage` does. Whoever made the intake releases it. */
export async function editPictures(
  services: InferenceServices,
  exchange: ImageExchange,
  intake: PictureIntake,
  { wire, pictures, param }: EditOrder,
): Promise<FinishedPicture> {
  const name = wire.model ?? wire.modelId ?? 'default';
  const resolved = await findImageModel(services, exchange, { name, type: 'inpaint' });
  const { manifest } = resolved;
  assertOperation(manifest, 'edit');
  const constraints = (manifest.constraints ?? {}) as Partial<EditConstraints>;
  checkEdit({ wire, pictures, param }, constraints);
  const taken = [];
  for (const picture of pictures) {
    taken.push(await intake.take(picture, { param, urls: true, minPixels, maxPixels }));
  }
  const admitted = await admitImage(services, exchange, resolved);
  const pricing = admitted.price.pricing as PicturePricing | null;
  const resolution = wire.resolution ?? constraints.defaultResolution ?? '1K';
  const quality = constraints.qualities ? (wire.quality ?? constraints.defaultQuality ?? 'high') : null;
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
    ...sizeLike(base?.header ?? { width: divisor, height: divisor }, { mostPixels: mostRedrawnPixels, divisor }),
    ...redrawing(manifest.familyOptions),
    prompt,
    format: editFormat(wire.output_format, resolution),
    safeMode,
    priceOfPicture: unitOfPicture(pricing, { flat: 'inpaint', resolution, quality }),
    extraUnits: { ...additionalInputs(pricing, taken.length), ...units },
  };
  const { pictures: finished } = await runImage(services, exchange, admitted, payload);
  announce();
  const [picture] = finished;
  if (picture === undefined) throw new PlatformError('IMAGE_EDIT_ERROR', 'The edit brought no picture.');
  return picture;
}

function checkEdit({ wire, pictures, param }: EditOrder, constraints: Partial<EditConstraints>): void {
  const { promptCharacterLimit = Infinity, resolutions, maxInputImages = defaultMostInputs } = constraints;
  if (wire.prompt.length > promptCharacterLimit) {
    const message = `prompt may have ${promptCharacterLimit} characters with this model.`;
    throw new PlatformError('INVALID_REQUEST', message, 'prompt');
  }
  const most = constraints.combineImages === false ? 1 : maxInputImages;
  if (pictures.length > most) {
    throw new PlatformError('INVALID_REQUEST', `This model takes ${most} pictures at most.`, param);
  }
  if (resolutions !== undefined && wire.resolution !== undefined && !resolutions.includes(wire.resolution)) {
    throw new PlatformError('INVALID_REQUEST', `resolution must be one of: ${resolutions.join(', ')}.`, 'resolution');
  }
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
