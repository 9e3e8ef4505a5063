import { describe, expect, it } from 'vitest';
import { jobFileName } from './job-file.js';

describe('the file of a result', () => {
  it.each([
    ['audio/mpeg', 'audio.mp3'],
    ['audio/wav', 'audio.wav'],
    ['audio/x-wav', 'audio.wav'],
    ['Audio/FLAC; rate=24000', 'audio.flac'],
    ['audio/opus', 'audio.opus'],
    ['audio/mp4', 'audio.m4a'],
    ['application/octet-stream', 'audio'],
    ['', 'audio'],
  ])('of type %j is %s', (type, name) => {
    expect(jobFileName('audio', type)).toBe(name);
  });

  it('is a video with the extension of its type', () => {
    expect(jobFileName('video', 'video/mp4')).toBe('video.mp4');
  });
});
