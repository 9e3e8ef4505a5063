import { serveBench } from '../bare-child.js';
import { type DecoderLoad, DecoderRun } from './decoder-run.js';

let run: DecoderRun | null = null;

serveBench(
  async (load: DecoderLoad) => void (run = await DecoderRun.open(load)),
  async () => run?.round(),
);
