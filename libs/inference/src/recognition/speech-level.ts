import { voiceFrameSamples } from './voice-activity.js';

/**
 * Level that the loud parts of a block are raised to: root mean square, full scale 1. At half of it, voice activity
 * detection still loses words.
 */
const targetLevel = 0.2;
/** Largest gain, 54 dB. Of what is quieter, 16 bits leave little but their rounding. */
const maxGain = 500;
/** Number of the loudest frames that are passed over: clicks and bumps are shorter than this, words are not. */
const clickFrames = 9;

/**
 * Raises a block whose loud parts are quiet; returns others as they are. Voice activity detection and models expect
 * speech at a usual level, and lose words of telephones and far speakers without a sign. Noise stays noise for them at
 * any level. The level is that of the loudest 0.3 s, without a constant offset, so neither a click nor silence around
 * few words decides.
 */
export function raiseQuietSpeech(samples: Float32Array): Float32Array {
  const offset = meanOf(samples);
  const level = loudLevel(samples, offset);
  if (level === 0 || level >= targetLevel) return samples;
  const gain = Math.min(maxGain, targetLevel / level);
  return samples.map((sample) => Math.max(-1, Math.min(1, (sample - offset) * gain)));
}

function meanOf(samples: Float32Array): number {
  let sum = 0;
  for (const sample of samples) sum += sample;
  return samples.length === 0 ? 0 : sum / samples.length;
}

/** Returns the level of the loudest frame behind those that may be clicks; of the quietest in a very short block. */
function loudLevel(samples: Float32Array, offset: number): number {
  const levels: number[] = [];
  for (let start = 0; start < samples.length; start += voiceFrameSamples) {
    const frame = samples.subarray(start, start + voiceFrameSamples);
    let energy = 0;
    for (const sample of frame) energy += (sample - offset) ** 2;
    levels.push(Math.sqrt(energy / frame.length));
  }
  levels.sort((left, right) => right - left);
  return levels[Math.min(clickFrames, levels.length - 1)] ?? 0;
}
