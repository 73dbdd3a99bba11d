# What a layer computes is tested in the arithmetic people train with; its gradients, in double.
surd_tests(layers
  FLOAT
    attention_factor_test.cpp
    attention_test.cpp
    decoder_test.cpp
    factor_test.cpp
    gradient_tails_test.cpp
    init_test.cpp
    initial_loss_test.cpp
    norm_placement_test.cpp
    positions_test.cpp
    ragged_rows_test.cpp
    scale_test.cpp
    score_parts_test.cpp
    score_variance_test.cpp
    tied_self_logit_test.cpp
    transformer_options_test.cpp
    transformer_test.cpp
    variants_test.cpp
  DOUBLE
    attention_gradient_test.cpp
    layer_gradient_test.cpp
    model_gradient_test.cpp
    variants_gradient_test.cpp)
set_target_properties(test_layers PROPERTIES UNITY_BUILD OFF)  # every file calls the width of its model d
