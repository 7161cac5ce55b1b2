import { forwardRef } from 'react';

// Reorder takes the place of framer-motion in GraphiQL, which uses it for the row of tabs
// only: a list without animations, whose order does not change by dragging. It saves a
// seventh of what the page loads.
export const Reorder = {
  Group: forwardRef(function Group({ values: _values, onReorder: _onReorder, axis: _axis, ...rest }, ref) {
    return <ul ref={ref} {...rest} />;
  }),
  Item: forwardRef(function Item({ value: _value, ...rest }, ref) {
    return <li ref={ref} {...rest} />;
  }),
};
