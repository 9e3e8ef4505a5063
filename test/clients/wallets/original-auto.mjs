// The same client with an empty wallet account, which tops up in the middle of a chat.
import { VeniceClient } from 'venice-x402-client';
import { chatBody, printResults, readSettings } from './settings.mjs';

const { origin, model, privateKey } = readSettings();
const client = new VeniceClient(privateKey, { apiUrl: origin, autoTopUp: { enabled: true, amount: 5 } });
const answer = await client.chat(chatBody(model));
printResults({ choices: answer.choices.length, balance: (await client.getBalance()).balanceUsd });
