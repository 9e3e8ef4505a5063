import { describe, expect, it } from 'vitest';
import type { ChatPart } from '../../contract/chat.message.js';
import type { ArtifactRecord } from '#storage';
import { contentOf } from './chat.content.js';
import type { ShownVideoPart, StoredImagePart } from './prepared-parts.js';

const text = (content: string): ChatPart => ({ type: 'text', text: content });

function image(artifactId: string): StoredImagePart {
  return { type: 'image_url', image_url: { url: 'data:,' }, stored: { artifactId, param: `part ${artifactId}` } };
}

describe('contentOf', () => {
  it('joins texts side by side by lines and notes where images stand', () => {
    expect(contentOf([text('one'), text('two'), image('a'), image('b'), text('three'), image('c')])).toEqual({
      content: 'one\ntwothree',
      images: [
        { artifactId: 'a', param: 'part a', position: 7 },
        { artifactId: 'b', param: 'part b', position: 7 },
        { artifactId: 'c', param: 'part c', position: 12 },
      ],
    });
  });

  it('shows a video as frames with their times, and its transcript behind them', () => {
    const frames = [0.5, 61].map((seconds) => ({ seconds, artifactId: `f${seconds}`, sha256: '' }));
    const shown = { video: {} as ArtifactRecord, frames, param: 'part v', transcript: 'Said.' };
    const video: ShownVideoPart = { type: 'video_url', video_url: { url: 'data:,' }, shown };
    const [first, second] = ['[Frame of a video at 0:00]', '[Frame of a video at 1:01]'];
    expect(contentOf([text('one'), video, text('two')])).toEqual({
      content: `one\n${first}${second}Said.\ntwo`,
      images: [
        { artifactId: 'f0.5', param: 'part v', isFrame: true, position: 4 + first.length },
        { artifactId: 'f61', param: 'part v', isFrame: true, position: 4 + first.length + second.length },
      ],
    });
  });

  it('has no images in text alone', () => {
    expect(contentOf('one')).toEqual({ content: 'one' });
    expect(contentOf(null)).toEqual({ content: '' });
    expect(contentOf([text('one'), text('two')])).toEqual({ content: 'one\ntwo' });
  });
});
