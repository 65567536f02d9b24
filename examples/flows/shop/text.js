exports.plural = (count, noun) => `${count} ${noun}${count === 1 ? '' : 's'}`;
