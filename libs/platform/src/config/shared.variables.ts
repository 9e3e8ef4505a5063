import { Matches } from '../validation/index.js';
import { BooleanVariable, ListVariable, PortVariable, TextVariable } from './variable.js';

/* Variables shared by several config classes, with the same description, checks and default. */

export function ApiHostVariable(): PropertyDecorator {
  return TextVariable('HOST', {
    about: 'Address the api listens on.',
    default: '127.0.0.1',
    expected: 'a host name or address',
  });
}

export function ApiPortVariable(): PropertyDecorator {
  return PortVariable('PORT', { about: 'Port the api listens on; 0 takes a free one.', default: 3000 });
}

/** Reads and writes audio and video. */
export function FfmpegVariable(): PropertyDecorator {
  return TextVariable('SLUICE_FFMPEG', {
    about:
      'A system ffmpeg, as a name on the PATH or a path, with ffprobe in the same folder. The default is used where it is newer than the packaged one; any other is always used.',
    default: 'ffmpeg',
    expected: 'a program',
  });
}

export function ProvidersVariable(): PropertyDecorator {
  return ListVariable('SLUICE_PROVIDERS', {
    about:
      'Execution providers in order of preference. A model is tried on each and compared with the CPU (docs/operate/gpu.md). ' +
      'Without `cpu`, a model that none of them runs is not loaded; it never falls back to the CPU.',
    choices: ['cuda', 'webgpu', 'cpu'],
    default: 'cuda,webgpu,cpu',
  });
}

export function AllowSoftwareGpuVariable(): PropertyDecorator {
  return BooleanVariable('SLUICE_ALLOW_SOFTWARE_GPU', {
    about:
      'Whether `webgpu` may use a Vulkan driver that computes on the processor, such as SwiftShader or llvmpipe. It is ' +
      'slow: for tests only.',
    default: false,
  });
}

export function RedisUrlVariable(): PropertyDecorator {
  return TextVariable('REDIS_URL', {
    about: 'Redis for the queue, the bus and the rate-limit windows.',
    optional: true,
    pattern: /^rediss?:\/\/.+/,
    expected: 'a URL such as redis://host:6379 or rediss://user:password@host:6380/0',
    secret: true,
  });
}

export function QueueUrlVariable(): PropertyDecorator {
  return TextVariable('SLUICE_QUEUE_URL', {
    about: 'Store of the queue; default: `REDIS_URL`, else (not for workers) `DATABASE_URL`.',
    optional: true,
    pattern: /^(postgres(ql)?|rediss?):\/\/.+/,
    expected: 'a URL such as redis://host:6379 or postgresql://user:password@host:5432/database',
    secret: true,
  });
}

export function QueueKeyVariable(): PropertyDecorator {
  const isList = ListVariable('SLUICE_QUEUE_KEY', {
    about:
      'Seals payloads and replies in the queue; the same for api, ops and workers. Several keys: the first seals, all ' +
      'open. Workers may get only the keys of their models (`sluice pools credentials`). Default: they are stored as they ' +
      'are; `npm start` makes one.',
    default: '',
    expected: '64 hex digits (32 bytes), or several such keys separated by commas, for one model as `<model>:<key>`',
    secret: true,
  });
  return eachMatching(/^([^:,]{1,200}:)?[0-9a-f]{64}$/i, isList);
}

export function StorageUrlVariable(): PropertyDecorator {
  return TextVariable('SLUICE_STORAGE_URL', {
    about:
      'Storage of media inputs and results, shared by api, worker and ops; default: `artifacts` in the data folder.',
    optional: true,
    pattern: /^(file:\/\/\/.+|s3:\/\/[a-z0-9][a-z0-9.-]{1,61}[a-z0-9](\/[A-Za-z0-9!_.*'()/-]*)?)$/,
    expected: 'a URL such as file:///var/lib/sluice/artifacts or s3://bucket/prefix',
  });
}

/** The database for commands, which find that of `npm start` on their own. */
export function OptionalDatabaseUrlVariable(): PropertyDecorator {
  return TextVariable('DATABASE_URL', {
    about: 'The PostgreSQL database; default: the one `npm start` runs for this `SLUICE_HOME`.',
    optional: true,
    pattern: /^postgres(ql)?:\/\/.+/,
    expected: 'a URL such as postgresql://user:password@host:5432/database',
    secret: true,
  });
}

export function PreviousSecretKeysVariable(): PropertyDecorator {
  const isList = ListVariable('SLUICE_PREVIOUS_SECRET_KEYS', {
    about: 'Further keys that open what the database holds and links that were signed, while the key is changed.',
    default: '',
    expected: 'keys of 64 hex digits separated by commas',
    secret: true,
  });
  return eachMatching(/^[0-9a-f]{64}$/i, isList);
}

function eachMatching(pattern: RegExp, isList: PropertyDecorator): PropertyDecorator {
  const matches = Matches(pattern, { each: true });
  return (target, name) => {
    isList(target, name);
    matches(target, String(name));
  };
}
