import { describe, expect, it } from 'vitest';
import type { ChatPart } from '../contract/chat.message.js';
import { contentOf } from './chat.content.js';
import type { StoredImagePart } from './inputs/chat-images.js';

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

  it('has no images in text alone', () => {
    expect(contentOf('one')).toEqual({ content: 'one' });
    expect(contentOf(null)).toEqual({ content: '' });
    expect(contentOf([text('one'), text('two')])).toEqual({ content: 'one\ntwo' });
  });
});
