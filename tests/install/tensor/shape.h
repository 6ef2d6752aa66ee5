#pragma once

inline constexpr int shape_of_the_consumer = 0;
