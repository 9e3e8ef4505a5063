import { describe, expect, it } from 'vitest';
import { mattingFamilies, readMattingNetwork } from './matting-network.js';

const birefnet = {
  width: 1_024,
  height: 1_024,
  mean: '0.485, 0.456, 0.406',
  deviation: '0.229,0.224,0.225',
  postprocess: 'sigmoid',
};

describe('the options of a matting network', () => {
  it('describe its input and output, with bilinear resampling of samples from 0 to 1 by default', () => {
    expect(readMattingNetwork('matting', birefnet)).toEqual({
      problems: [],
      network: {
        size: { kind: 'fixed', width: 1_024, height: 1_024 },
        resampling: 'bilinear',
        scale: 1 / 255,
        mean: [0.485, 0.456, 0.406],
        deviation: [0.229, 0.224, 0.225],
        output: null,
        postprocess: 'sigmoid',
      },
    });
  });

  it('may give one number for all channels, bounds of the size, and the output by name', () => {
    const options = { shortSide: 768, multipleOf: 32, mean: 0.5, deviation: 1, postprocess: 'none', output: 'alphas' };
    const { network } = readMattingNetwork('matting', { ...options, scale: 1, resampling: 'bicubic' });
    expect(network).toMatchObject({
      size: { kind: 'scaled', shortSide: 768, maxLongSide: 3_072, multipleOf: 32 },
      mean: [0.5, 0.5, 0.5],
      deviation: [1, 1, 1],
      output: 'alphas',
      scale: 1,
      resampling: 'bicubic',
    });
  });

  it('are all known for the families with a network of their own, and win over those', () => {
    expect(mattingFamilies).toEqual(['matting', 'modnet', 'u2net']);
    const { network: modnet } = readMattingNetwork('modnet');
    expect(modnet).toMatchObject({
      size: { kind: 'scaled', shortSide: 512, maxLongSide: 2_048, multipleOf: 32 },
      postprocess: 'none',
    });
    const { network: u2net } = readMattingNetwork('u2net');
    expect(u2net).toMatchObject({ size: { kind: 'fixed', width: 320 }, postprocess: 'min-max' });
    const { network: larger } = readMattingNetwork('u2net', { shortSide: 640, multipleOf: 32 });
    expect(larger).toMatchObject({ size: { kind: 'scaled', shortSide: 640 }, mean: [0.485, 0.456, 0.406] });
    const { network: square } = readMattingNetwork('modnet', { width: 512, height: 512 });
    expect(square).toMatchObject({ size: { kind: 'fixed', width: 512, height: 512 }, mean: [0.5, 0.5, 0.5] });
  });

  it.each([
    [{ width: undefined }, 'width', 'must be a whole number of pixels from 1 to 4096'],
    [{ height: 1.5 }, 'height', 'must be a whole number of pixels'],
    [{ height: 5_000 }, 'height', 'must be a whole number of pixels'],
    [{ shortSide: 512 }, 'width', 'is the size of all images'],
    [{ width: undefined, height: undefined, shortSide: 512, maxLongSide: 500 }, 'maxLongSide', 'must not be less'],
    [{ width: undefined, height: undefined, shortSide: 16, multipleOf: 32 }, 'multipleOf', 'must not be greater'],
    [{ mean: '0.5,0.5' }, 'mean', 'must be a number, or three with commas'],
    [{ mean: '0.5,,0.5' }, 'mean', 'must be a number, or three with commas'],
    [{ mean: undefined }, 'mean', 'must be a number, or three with commas'],
    [{ deviation: 0 }, 'deviation', 'must be a number above 0'],
    [{ scale: -1 }, 'scale', 'must be a number above 0'],
    [{ output: 2 }, 'output', 'must be the name of an output'],
    [{ postprocess: 'softmax' }, 'postprocess', 'must be one of none, sigmoid, min-max'],
    [{ postprocess: undefined }, 'postprocess', 'must be one of none, sigmoid, min-max'],
    [{ resampling: 'nearest' }, 'resampling', 'must be one of bilinear, bicubic, lanczos'],
    [{ std: 1 }, 'std', 'is no option of the family matting; there are width, height'],
  ])('with %j are refused by their path', (changes, name, message) => {
    const { network, problems } = readMattingNetwork('matting', { ...birefnet, ...changes });
    expect(network).toBeNull();
    expect(problems).toContainEqual({
      path: `familyOptions.${name}`,
      message: expect.stringContaining(message) as string,
    });
  });
});
