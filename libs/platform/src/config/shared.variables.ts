import { ListVariable, PortVariable, TextVariable } from './variable.js';

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
      'ffmpeg, as a name on the PATH or a path, with ffprobe beside it. Without it the audio and video routes return 503.',
    default: 'ffmpeg',
    expected: 'a program',
  });
}

export function ProvidersVariable(): PropertyDecorator {
  return ListVariable('SLUICE_PROVIDERS', {
    about: 'Execution providers in order of preference: `cuda`, `webgpu`, `cpu`.',
    default: 'cuda,cpu',
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
