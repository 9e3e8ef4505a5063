import { describe, expect, it } from 'vitest';
import { hostileTemplates } from '#test/hostile-templates';
import { measureSilence } from '#test/loop-silence';
import { ChatTemplate } from './chat-template.js';

const special = { bos: '<s>', eos: '</s>', unk: null, pad: null };
const at = () => new Date(Date.UTC(2026, 2, 5, 15, 4));

const user = [{ role: 'user', content: 'Hi' }];

describe('ChatTemplate', () => {
  it('renders the conversation up to the start of the response', () => {
    const source =
      "{{ bos_token }}{% for message in messages %}[{{ message.role }}]{{ message['content'] }}{{ eos_token }}" +
      '{% endfor %}{% if add_generation_prompt %}[assistant]{% endif %}';
    expect(new ChatTemplate(source, special).render(user)).toBe('<s>[user]Hi</s>[assistant]');
  });

  it('maps an exception of the template to a 400 on messages', () => {
    const template = new ChatTemplate("{{ raise_exception('roles must alternate') }}", special);
    expect(() => template.render(user)).toThrowError(
      expect.objectContaining({
        code: 'INVALID_REQUEST',
        param: 'messages',
        message: 'This model refuses the conversation: roles must alternate',
      }),
    );
  });

  it('does not reveal the text of other failures', () => {
    const template = new ChatTemplate('{{ messages | no_such_filter }}', special);
    expect(() => template.render(user)).toThrowError(
      expect.objectContaining({
        code: 'INFERENCE_FAILED',
        message: 'The chat template of this model failed on this conversation.',
      }),
    );
  });

  it('passes enable_thinking only if it is set', () => {
    const template = new ChatTemplate('{{ enable_thinking if enable_thinking is defined else "own" }}', special);
    expect(template.render(user)).toBe('own');
    expect(template.render(user, { enableThinking: false })).toBe('false');
    expect(template.render(user, { enableThinking: true })).toBe('true');
  });

  it('passes reasoning_effort only if it is set', () => {
    const template = new ChatTemplate('{{ reasoning_effort if reasoning_effort is defined else "own" }}', special);
    expect(template.render(user)).toBe('own');
    expect(template.render(user, { reasoningEffort: 'high' })).toBe('high');
  });

  it('provides the date in English and UTC', () => {
    const template = new ChatTemplate("{{ strftime_now('%d %b %Y, %A %-d %B %H:%M %p %%') }}", special, at);
    expect(template.render(user)).toBe('05 Mar 2026, Thursday 5 March 15:04 PM %');
  });

  it('does not define members that a message lacks', () => {
    const template = new ChatTemplate('{{ "name" if messages[0].name is defined else "none" }}', special);
    expect(template.render([{ role: 'user', content: 'Hi', name: undefined }])).toBe('none');
    expect(template.render([{ role: 'user', content: 'Hi', name: 'Ada' }])).toBe('name');
  });

  it('renders a Qwen-style template with thinking disabled', () => {
    const source =
      "{%- for message in messages %}{{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>' + '\\n' }}{%- endfor %}" +
      "{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n' }}" +
      "{%- if enable_thinking is defined and enable_thinking is false %}{{- '<think>\\n\\n</think>\\n\\n' }}{%- endif %}{%- endif %}";
    const text = new ChatTemplate(source, special).render(user, { enableThinking: false });
    expect(text).toBe('<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n');
  });

  it('supports range and tests for defined variables in templates', () => {
    const source = '{% for index in range(1, 4) %}{{ index }}{% endfor %}{% if not tools is defined %}!{% endif %}';
    expect(new ChatTemplate(source, special).render(user)).toBe('123!');
  });
});

describe('a hostile template', () => {
  it.each(hostileTemplates)('is stopped: $name', async ({ source }) => {
    const work = async () => new ChatTemplate(source, special, undefined, undefined, 300).render(user);
    const { longestMs, heapMiB } = await measureSilence(() => expect(work()).rejects.toThrow(Error));
    // The limit is one of a clock, so that no processor time can be far above it.
    expect(longestMs).toBeLessThan(1_500);
    expect(heapMiB).toBeLessThan(600);
  });

  it('names what it does', () => {
    const message = (source: string): string => {
      try {
        return new ChatTemplate(source, special, undefined, undefined, 300).render(user);
      } catch (error) {
        return (error as Error).message;
      }
    };
    expect(message('{% for i in range(100000000) %}{% endfor %}')).toBe(
      'The chat template of this model makes too long a list.',
    );
    expect(message('{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}')).toBe(
      'The chat template of this model takes too long.',
    );
    expect(message(`{{ 'a' }}${' '.repeat(300_000)}x`)).toBe('The chat template of this model takes too long to read.');
  });

  it('does not bound what a long conversation needs', () => {
    const content = 'word '.repeat(400_000);
    const source = '{% for message in messages %}{{ message.content }}{{ message.content | trim }}{% endfor %}';
    const messages = [1, 2].map(() => ({ role: 'user' as const, content }));
    expect(new ChatTemplate(source, special).render(messages)).toHaveLength(8_000_000 - 2);
  });
});
