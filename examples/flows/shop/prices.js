/** In cents. */
exports.total = (items) => {
  let sum = 0;
  for (let i = 0; i <= items.length; i++) sum += items[i].price * items[i].count;
  return sum;
};

exports.format = (cents) => `$${(cents / 100).toFixed(2)}`;
