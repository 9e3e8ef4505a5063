import { audioSteps } from './audio.mjs';
import { imageSteps } from './images.mjs';
import { inputSteps } from './inputs.mjs';
import { textSteps } from './text.mjs';
import { videoSteps } from './videos.mjs';

/**
 * The tour, in order. A step has a `name`, the `model` it needs (`type` of `GET /models`, preferred `trait`, and
 * `accepts` for its record), how to `pull` one, and `run`, which gets the client and the model and returns the number of
 * `bytes` that came, a `note` and, for later steps, a `result`. It throws `StepSkipped` if it has nothing to work on.
 */
export const steps = [...textSteps, ...audioSteps, ...inputSteps, ...imageSteps, ...videoSteps];
