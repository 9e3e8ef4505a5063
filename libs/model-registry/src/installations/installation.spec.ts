import { describe, expect, it } from 'vitest';
import { type InstallationStage, type InstallationState, installationStates, isOpen, stateOf } from './installation.js';

/** The states that an owner reports of stages in their order. */
function statesOf(stages: readonly InstallationStage[]): InstallationState[] {
  let state: InstallationState = 'pulling';
  return stages.map((stage) => (state = stateOf(stage, state)));
}

describe('the states of an installation', () => {
  it('follow the stages of a model that is converted and checked', () => {
    const stages: InstallationStage[] = ['inspect', 'download', 'verify', 'convert', 'verify', 'check', 'register'];
    expect(statesOf(stages)).toEqual([
      'pulling',
      'pulling',
      'pulling',
      'converting',
      'converting',
      'registering',
      'registering',
    ]);
  });

  it('leave out the conversion of a model that needs none, and never lead back', () => {
    expect(statesOf(['download', 'verify', 'register'])).toEqual(['pulling', 'pulling', 'registering']);
    expect(stateOf('download', 'registering')).toBe('registering');
    expect(stateOf('convert', 'pulling')).toBe('converting');
  });

  it('are open until they have ended', () => {
    expect(installationStates.filter(isOpen)).toEqual(['waiting', 'pulling', 'converting', 'registering']);
  });
});
