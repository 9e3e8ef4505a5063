import { describe, expect, it } from 'vitest';
import { checkChatTemplate } from './chat-template.js';

describe('checkChatTemplate', () => {
  it('accepts a template, and none', () => {
    for (const template of ['{{ messages[0].content }}', [{ name: 'default', template: '{{ 1 }}' }], null]) {
      expect(() => checkChatTemplate('f', template)).not.toThrow();
    }
  });

  it('refuses a template that takes too long to read', () => {
    const blanks = `{{ 'a' }}${' '.repeat(300_000)}x`;
    expect(() => checkChatTemplate('chat_template.jinja', blanks, 100)).toThrow(
      'its chat template cannot be read: it takes too long',
    );
  });
});
