import {
  Matches,
  Validate,
  type ValidationArguments,
  ValidatorConstraint,
  type ValidatorConstraintInterface,
} from '../validation/index.js';
import { parseProviderLibraries, providerLibraryPattern } from './provider-libraries.js';
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
      'System ffmpeg, with ffprobe in its folder (docs/operate/storage.md). The default is used if newer than the packaged one, any other always.',
    default: 'ffmpeg',
    expected: 'a program',
  });
}

/** Words of `SLUICE_PROVIDERS` that need no library of their own. */
const builtInProviders = ['cuda', 'webgpu', 'cpu'];

/** The providers that are tried where nobody has chosen any. */
export const defaultProviders = [...builtInProviders];

/** The providers that the libraries in the same object add are words, too. */
@ValidatorConstraint({ name: 'providersAreKnown' })
class ProvidersAreKnown implements ValidatorConstraintInterface {
  validate(words: unknown, { object }: ValidationArguments): boolean {
    const { providerLibraryTexts } = object as { providerLibraryTexts?: unknown };
    const added = Array.isArray(providerLibraryTexts) ? parseProviderLibraries(providerLibraryTexts) : [];
    const known = [...builtInProviders, ...added.map(({ provider }) => provider)];
    return Array.isArray(words) && words.every((word) => known.includes(word as string));
  }
}

export function ProvidersVariable(): PropertyDecorator {
  const isList = ListVariable('SLUICE_PROVIDERS', {
    about: 'Execution providers in order of preference (docs/operate/gpu.md).',
    expected: `words separated by commas, of ${builtInProviders.join(', ')} and the names in SLUICE_PROVIDER_LIBRARIES`,
    default: defaultProviders.join(','),
  });
  return (target, name) => {
    isList(target, name);
    Validate(ProvidersAreKnown)(target, String(name));
  };
}

@ValidatorConstraint({ name: 'providerLibrariesAreNamed' })
class ProviderLibrariesAreNamed implements ValidatorConstraintInterface {
  validate(words: unknown): boolean {
    if (!Array.isArray(words) || !words.every((word) => providerLibraryPattern.test(word as string))) return false;
    const names = parseProviderLibraries(words).map(({ provider }) => provider);
    return new Set(names).size === names.length;
  }
}

export function ProviderLibrariesVariable(): PropertyDecorator {
  const isList = ListVariable('SLUICE_PROVIDER_LIBRARIES', {
    about: 'Libraries with execution providers (docs/operate/gpu.md).',
    default: '',
    expected:
      'absolute paths, each with a name of its own, separated by commas, such as openvino=/opt/openvino/libprovider.so',
  });
  return (target, name) => {
    isList(target, name);
    Validate(ProviderLibrariesAreNamed)(target, String(name));
  };
}

export function AllowSoftwareGpuVariable(): PropertyDecorator {
  return BooleanVariable('SLUICE_ALLOW_SOFTWARE_GPU', {
    about: 'Whether `webgpu` may use a Vulkan driver that computes on the processor, slowly.',
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
      'Seals payloads and replies in the queue; the same everywhere (docs/operate/security.md). The first of several seals, all open. Without it, prompts are in clear text; `npm start` makes one.',
    default: '',
    expected: '64 hex digits (32 bytes), or several such keys separated by commas, for one model as `<model>:<key>`',
    secret: true,
  });
  return eachMatching(/^([^:,]{1,200}:)?[0-9a-f]{64}$/i, isList);
}

export function StorageUrlVariable(): PropertyDecorator {
  return TextVariable('SLUICE_STORAGE_URL', {
    about: 'Storage of media, shared by all; default: `artifacts` in the data folder.',
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
    about: 'Earlier keys, which still open data and links.',
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
