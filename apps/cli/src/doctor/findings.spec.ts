import { describe, expect, it } from 'vitest';
import type { Diagnosis } from './examine.js';
import { collectFindings, isUnusable } from './findings.js';

const gpu = { name: 'NVIDIA H200', totalBytes: 2 ** 37, usedBytes: 0, slices: [] };
const nvidia = { driverVersion: '570.86.15', cudaVersion: '12.8', devices: [gpu] };
const found = { name: 'libcublas.so.12', path: '/usr/lib/libcublas.so.12' };

const healthy: Diagnosis = {
  machine: {
    platform: 'linux-x64',
    node: 'v22.0.0',
    cpu: 'a processor',
    cores: 2,
    memoryBytes: 2 ** 34,
    nvidia,
    tools: [{ name: 'ffmpeg', version: '7.1' }],
  },
  runtime: { version: '1.30.0', cuda: { installed: true, libraries: [found] } },
  providers: [
    { name: 'cuda', device: 'Card', usable: true, note: null },
    { name: 'cpu', device: null, usable: true, note: null },
  ],
  models: [{ id: 'small', bytes: 2 ** 30, provider: 'cuda', note: null }],
};

const cudaFails = [
  { name: 'cuda', device: null, usable: false, note: 'cuda skipped' },
  { name: 'cpu', device: null, usable: true, note: null },
];

function withoutCuda(machine: Partial<Diagnosis['machine']>, cuda: Diagnosis['runtime']['cuda']): string[] {
  const runtime = { ...healthy.runtime, cuda };
  return collectFindings({ ...healthy, machine: { ...healthy.machine, ...machine }, runtime, providers: cudaFails });
}

describe('doctor findings', () => {
  it('are empty when everything works', () => {
    expect(collectFindings(healthy)).toEqual([]);
  });

  it('are empty without a GPU and without CUDA libraries', () => {
    expect(withoutCuda({ nvidia: null }, { installed: false, libraries: null })).toEqual([]);
  });

  it('name what a GPU lacks: the driver, the device, or the CUDA libraries of the runtime or the system', () => {
    const installed = { installed: true, libraries: [found] };
    expect(withoutCuda({ nvidia: null }, installed)).toEqual([expect.stringContaining('no NVIDIA driver answers')]);
    expect(withoutCuda({ nvidia: { ...nvidia, devices: [] } }, installed)[0]).toContain('no device');
    expect(withoutCuda({}, { installed: false, libraries: null })[0]).toContain('ONNXRUNTIME_NODE_INSTALL=cuda12');
    expect(withoutCuda({ platform: 'linux-arm64' }, null)[0]).toContain('this is linux-arm64');
    const libraries = [found, { name: 'libcudnn.so.9', path: null }];
    expect(withoutCuda({}, { installed: true, libraries })).toEqual([
      'Missing for CUDA: libcudnn.so.9. CUDA 12 and cuDNN 9 bring them.',
    ]);
    expect(withoutCuda({}, installed)[0]).toContain('does not work');
  });

  it('name the reason when no provider of the list works, since nothing falls back to the CPU', () => {
    const providers = [
      { name: 'cuda', device: null, usable: false, note: 'cuda skipped: its libraries are not installed' },
    ];
    const machine = { ...healthy.machine, nvidia: null };
    const runtime = { ...healthy.runtime, cuda: { installed: false, libraries: null } };
    expect(collectFindings({ ...healthy, machine, runtime, providers })).toEqual([
      'No provider of SLUICE_PROVIDERS (cuda) works here, so no model is loaded: cuda skipped: its libraries are not ' +
        'installed. Add cpu to the list to run models on the processor.',
    ]);
    expect([isUnusable({ providers }), isUnusable({ providers: cudaFails })]).toEqual([true, false]);
  });

  it('name missing tools and models that cannot fit', () => {
    const machine = { ...healthy.machine, memoryBytes: 2 ** 29, tools: [{ name: 'ffmpeg', version: null }] };
    expect(collectFindings({ ...healthy, machine })).toEqual([
      'ffmpeg is missing and the bundled one does not run here: audio and video are not served. Install ffmpeg.',
      'small is larger than the memory of this machine.',
    ]);
  });
});
