import { expect, it } from 'vitest';
import { noteOnMemory } from './memory-note.js';

it('says that there is little memory, and what happens then', () => {
  expect(noteOnMemory(512 * 1_048_576)).toMatch(/^this machine or container has 536\.9 MB of memory, .* give it more/);
  expect(noteOnMemory(1.5e9 - 1)).toContain('SIGKILL');
});

it('says nothing where there is enough', () => {
  expect(noteOnMemory(1.5e9)).toBeNull();
  expect(noteOnMemory(64e9)).toBeNull();
});
