import { describe, expect, it } from 'vitest';
import { parseNvidiaDriver } from './nvidia-driver.js';
import { parseNeeded } from './shared-libraries.js';

/* Excerpt of the tool's output: the parsed elements and a few others. */
const device = (name: string, more: string) => `
  <gpu id="00000000:17:00.0">
    <product_name>${name}</product_name>
    <uuid>GPU-1</uuid>
    <fb_memory_usage><total>143771 MiB</total><reserved>609 MiB</reserved><used>512 MiB</used></fb_memory_usage>
    <bar1_memory_usage><total>262144 MiB</total><used>1 MiB</used></bar1_memory_usage>
    ${more}
  </gpu>`;

const log = (devices: string) => `<?xml version="1.0" ?>
<nvidia_smi_log>
  <driver_version>570.86.15</driver_version>
  <cuda_version>12.8</cuda_version>
  ${devices}
</nvidia_smi_log>`;

const whole = device(
  'NVIDIA H200',
  `<mig_mode><current_mig>Disabled</current_mig></mig_mode>
   <mig_devices>None</mig_devices>
   <processes>
     <process_info><pid>41</pid><used_memory>300 MiB</used_memory></process_info>
     <process_info><pid>42</pid><used_memory>N/A</used_memory></process_info>
     <process_info><pid>41</pid><used_memory>12 MiB</used_memory></process_info>
   </processes>`,
);

const cut = device(
  'NVIDIA A100',
  `<mig_mode><current_mig>Enabled</current_mig></mig_mode>
   <mig_devices>
     <mig_device><index>0</index><fb_memory_usage><total>20096 MiB</total><used>1 MiB</used></fb_memory_usage></mig_device>
     <mig_device><index>1</index><fb_memory_usage><total>9984 MiB</total><used>1 MiB</used></fb_memory_usage></mig_device>
   </mig_devices>`,
);

describe('nvidia-smi output', () => {
  it('gives the driver, CUDA and each device with its memory and processes', () => {
    const driver = parseNvidiaDriver(log(whole));
    expect(driver).toMatchObject({ driverVersion: '570.86.15', cudaVersion: '12.8' });
    expect(driver?.devices).toEqual([
      {
        name: 'NVIDIA H200',
        uuid: 'GPU-1',
        totalBytes: 143_771 * 2 ** 20,
        usedBytes: 512 * 2 ** 20,
        slices: [],
        usedByPid: new Map([[41, 312 * 2 ** 20]]),
      },
    ]);
  });

  it('separates the MIG slices of a device from the device', () => {
    const devices = parseNvidiaDriver(log(whole + cut))?.devices ?? [];
    expect(devices.map(({ name }) => name)).toEqual(['NVIDIA H200', 'NVIDIA A100']);
    expect(devices[1]).toMatchObject({
      totalBytes: 143_771 * 2 ** 20,
      slices: [
        { index: 0, totalBytes: 20_096 * 2 ** 20 },
        { index: 1, totalBytes: 9_984 * 2 ** 20 },
      ],
    });
  });

  it('gives null for other output', () => {
    expect(parseNvidiaDriver('NVIDIA-SMI has failed because it could not communicate with the driver.')).toBeNull();
    expect(parseNvidiaDriver(log(''))?.devices).toEqual([]);
  });
});

describe('ldd output', () => {
  it('separates libraries that are found from missing ones', () => {
    const text = [
      '\tlinux-vdso.so.1 (0x00007ffc1)',
      '\tlibcudnn.so.9 => not found',
      '\tlibc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x00007f1)',
      '\t/lib64/ld-linux-x86-64.so.2 (0x00007f2)',
    ].join('\n');
    expect(parseNeeded(text)).toEqual([
      { name: 'libcudnn.so.9', path: null },
      { name: 'libc.so.6', path: '/lib/x86_64-linux-gnu/libc.so.6' },
    ]);
  });
});
