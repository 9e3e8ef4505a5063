import { describe, expect, it } from 'vitest';
import { PlatformError } from '#common';
import { asRunFailure } from './device-failure.js';

describe('asRunFailure', () => {
  it.each([
    'CUDA failure 2: out of memory ; GPU=0',
    'std::bad_alloc',
    'Failed to allocate memory for requested buffer of size 17179869184',
    'CUDNN failure 4: CUDNN_STATUS_INTERNAL_ERROR',
  ])('reports DEVICE_LOST for "%s"', (message) => {
    expect(asRunFailure(new Error(message)).code).toBe('DEVICE_LOST');
    const wrapped = PlatformError.from(new Error(message), 'INFERENCE_FAILED');
    expect(asRunFailure(wrapped).code).toBe('DEVICE_LOST');
  });

  it('leaves other errors unchanged', () => {
    expect(asRunFailure(new Error('Non-zero status code while running Gather')).code).toBe('INFERENCE_FAILED');
    expect(asRunFailure(new PlatformError('MODEL_OFFLINE', 'out of memory')).code).toBe('MODEL_OFFLINE');
  });
});
