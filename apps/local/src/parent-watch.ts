/*
 * Loaded before the main module of every child (`node --import`): when `npm start` dies without a chance to stop its
 * children, the channel to it closes, and they stop by themselves instead of holding ports and queues for ever.
 */

// A worker hands its own node options to the hosts it forks; their channel leads to the worker, not to us.
const isOurChild = /[\\/]apps[\\/](api|worker|ops)[\\/]src[\\/]main\.js$/.test(process.argv[1] ?? '');

if (isOurChild && process.channel) {
  process.once('disconnect', () => process.kill(process.pid, 'SIGTERM'));
  process.channel.unref();
}
