import { expect, it } from 'vitest';
import { aboutComposeVariables, unknownVariables } from './unknown-variables.js';

it('says what to set instead of a variable of compose, and nothing of those of Kubernetes', () => {
  expect(aboutComposeVariables({ SLUICE_PORT: '8080', SLUICE_BIND: '0.0.0.0' })).toEqual([
    'SLUICE_PORT is set, but only docker/compose.yaml reads it. Set PORT instead.',
    'SLUICE_BIND is set, but only docker/compose.yaml reads it. Set HOST instead.',
  ]);
  expect(aboutComposeVariables({ SLUICE_PORT: 'tcp://10.0.0.1:80', SLUICE_BIND: '' })).toEqual([]);
});

it('does not count variables of compose as unknown, because its env file reaches the containers', () => {
  const environment = { SLUICE_PORT: '8080', SLUICE_BIND: '0.0.0.0', SLUICE_ENV_FILE: 'sluice.env', SLUICE_PROT: '1' };
  expect(unknownVariables(environment)).toEqual(['SLUICE_PROT']);
});

it('knows the variables that the examples of the documentation set', () => {
  const environment = { SLUICE_URL: 'http://localhost:3000', SLUICE_API_KEY: 'slk_a', SLUICE_ADMIN_KEY: 'slk_b' };
  expect(unknownVariables(environment)).toEqual([]);
});
